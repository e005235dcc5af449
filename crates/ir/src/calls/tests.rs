use super::*;

/// A function with one parameter, which `body` gets and answers what it returns for.
fn function(name: &str, body: impl FnOnce(&mut Builder, Value) -> Value) -> Function {
    let mut b = Builder::new(name);
    let param = b.func().new_value(Type::I32);
    b.func().params.push(param);
    b.func().results.push(Type::I32);
    let result = body(&mut b, param);
    b.terminate(Term::Return(vec![result]));
    b.finish()
}

/// Calls from where the builder is; answers the result.
fn call(b: &mut Builder, callee: Callee, arg: Value) -> Value {
    let stack = b.inst(Op::Address(Symbol::StackTop), &[], Type::I32);
    let next = b.new_block();
    let result = b.func().new_value(Type::I32);
    let call = Call { callee, stack, args: vec![arg], results: vec![result], next: Target::new(next) };
    b.terminate(Term::Call(Box::new(call)));
    b.switch_to(next);
    result
}

fn kernel(callee: Callee) -> Function {
    let mut b = Builder::new("k");
    let x = b.special(Special::LaneId);
    let y = call(&mut b, callee, x);
    // Something that lives across the call.
    let sum = b.add(x, y);
    let at = b.iconst(Type::I64, 0);
    b.effect(Op::Store(Mem::weak(Space::Global)), &[at, sum], None);
    b.terminate(Term::Exit);
    b.finish()
}

fn increment() -> Function {
    function("increment", |b, x| b.int_imm(IntBin::Add, x, 1))
}

/// Calls itself with half of what it got until nothing is left.
fn halve(id: FuncId) -> Function {
    function("halve", |b, x| {
        let (more, done) = (b.new_block(), b.new_block());
        let var = b.new_var(Type::I32);
        b.set(var, x);
        let c = b.cmp_imm(IntCmp::Ne, x, 0);
        b.branch(c, more, done);
        b.switch_to(more);
        let half = b.int_imm(IntBin::ShrU, x, 1);
        let got = call(b, Callee::Direct(id), half);
        let sum = b.add(got, x);
        b.set(var, sum);
        b.jump(done);
        b.switch_to(done);
        b.get(var)
    })
}

fn link_with(functions: Vec<Option<Function>>, options: Options) -> Result<Function, FuncId> {
    let module = Module { functions, ..Module::default() };
    link(&module, &kernel(Callee::Direct(FuncId(0))), options)
}

#[test]
fn a_function_is_inlined_through_others() {
    let outer = function("outer", |b, x| {
        let once = call(b, Callee::Direct(FuncId(1)), x);
        call(b, Callee::Direct(FuncId(1)), once)
    });
    let f = link_with(vec![Some(outer), Some(increment())], Options::default()).unwrap();
    let text = f.to_string();
    assert_eq!(text.matches("const 0x1").count(), 2, "{text}");
    assert!(!text.contains("call") && !text.contains("return") && !text.contains("switch"), "{text}");
    assert_eq!(f.info.local_bytes, 0);
    verify_primitive(&f).unwrap();
}

#[test]
fn what_calls_itself_is_there_once() {
    let f = link_with(vec![Some(halve(FuncId(0)))], Options::default()).unwrap();
    let text = f.to_string();
    // One place to shift, one to return from, one where the stack may be full.
    for (part, count) in [("shr_u", 1), ("switch", 1), ("stack_overflow", 1), ("bad_return", 1)] {
        assert_eq!(text.matches(part).count(), count, "{part} in\n{text}");
    }
    assert!(f.info.local_bytes >= Options::default().stack_bytes, "{text}");
    verify_primitive(&f).unwrap();
}

#[test]
fn what_is_too_large_is_called() {
    let long = function("long", |b, x| (0..100).fold(x, |x, n| b.int_imm(IntBin::Xor, x, n)));
    let short = |most_instructions| Options { most_instructions, ..Options::default() };
    let twice = function("twice", |b, x| {
        let once = call(b, Callee::Direct(FuncId(1)), x);
        call(b, Callee::Direct(FuncId(1)), once)
    });
    let functions = vec![Some(twice), Some(long)];
    let inlined = link_with(functions.clone(), Options::default()).unwrap();
    assert!(!inlined.to_string().contains("switch"));
    let called = link_with(functions, short(50)).unwrap();
    assert!(called.to_string().contains("switch"), "{called}");
    assert!(called.inst_count() < inlined.inst_count());
    verify_primitive(&called).unwrap();
}

#[test]
fn calls_through_values_reach_what_fits() {
    let other = {
        let mut b = Builder::new("other");
        b.terminate(Term::Return(vec![]));
        b.finish()
    };
    let mut module = Module { functions: vec![Some(increment()), Some(other)], ..Module::default() };
    let address = module.take_address(FuncId(0));
    module.take_address(FuncId(1));
    assert_eq!(module.take_address(FuncId(0)), address);
    let mut b = Builder::new("k");
    let x = b.special(Special::LaneId);
    let pointer = b.iconst(Type::I64, address);
    let y = call(&mut b, Callee::Indirect(pointer), x);
    let at = b.iconst(Type::I64, 0);
    b.effect(Op::Store(Mem::weak(Space::Global)), &[at, y], None);
    b.terminate(Term::Exit);
    let kernel = b.finish();
    let f = link(&module, &kernel, Options::default()).unwrap();
    let text = f.to_string();
    assert!(text.contains("bad_call"), "{text}");
    verify_primitive(&f).unwrap();
}

#[test]
fn a_function_that_is_not_there_is_named() {
    let caller = function("caller", |b, x| call(b, Callee::Direct(FuncId(1)), x));
    assert_eq!(link_with(vec![Some(caller), None], Options::default()), Err(FuncId(1)));
}
