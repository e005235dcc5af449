//! Variables become values: whatever way control takes, a value that stands for a variable is what was assigned last.

use hostwarp_ir::{Block, Builder, Function, IntUn, Op, Term, Type, Value, Var, verify};
use std::collections::HashMap;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

/// What a block does: assigns a constant, or another variable, or looks at one.
enum Step {
    Set(usize, u64),
    Copy(usize, usize),
    Look(usize, u32),
}

/// Follows a way through the blocks and compares what is looked at with what was assigned.
fn follow(func: &Function, steps: &[Vec<Step>], vars: usize, random: &mut Random) {
    let mut held = vec![0u64; vars];
    let mut values: HashMap<Value, u64> = HashMap::new();
    let mut at = Block::ENTRY;
    for _ in 0..60 {
        let mut looked = HashMap::new();
        for i in &func.block(at).insts {
            match i.op {
                Op::Const(bits) => drop(values.insert(i.result.unwrap(), bits)),
                Op::IntUn(IntUn::Not) => drop(looked.insert(i.line, values[&i.args[0]])),
                ref op => panic!("{op:?}"),
            }
        }
        // Blocks are not renumbered: all are reached. The entry is the builder's own.
        for step in at.0.checked_sub(1).map_or(&[][..], |b| &steps[b as usize]) {
            match *step {
                Step::Set(var, to) => held[var] = to,
                Step::Copy(var, from) => held[var] = held[from],
                Step::Look(var, line) => assert_eq!(looked[&line], held[var], "line {line} of\n{func}"),
            }
        }
        let targets = func.block(at).term.targets();
        if targets.is_empty() {
            return;
        }
        let to = targets[random.below(targets.len())];
        let handed: Vec<u64> = to.args.iter().map(|a| values[a]).collect();
        values.extend(func.block(to.block).params.iter().copied().zip(handed));
        at = to.block;
    }
}

#[test]
fn a_variable_is_what_was_assigned_last() {
    let mut random = Random(3);
    for round in 0..1500 {
        let (blocks, vars) = (1 + round % 14, 1 + random.below(4));
        let mut b = Builder::new("k");
        let ids: Vec<Block> = (0..blocks).map(|i| if i == 0 { b.current() } else { b.new_block() }).collect();
        let of: Vec<Var> = (0..vars).map(|_| b.new_var(Type::I32)).collect();
        let mut line = 0;
        let mut steps = vec![];
        for i in 0..blocks {
            b.switch_to(ids[i]);
            let mut mine = vec![];
            for _ in 0..random.below(4) {
                let (var, other) = (random.below(vars), random.below(vars));
                mine.push(match random.below(4) {
                    0 => {
                        let v = b.iconst(Type::I32, 100 + u64::from(line));
                        b.set(of[var], v);
                        Step::Set(var, 100 + u64::from(line))
                    }
                    1 => {
                        let v = b.get(of[other]);
                        b.set(of[var], v);
                        Step::Copy(var, other)
                    }
                    _ => {
                        line += 1;
                        b.set_line(line);
                        let v = b.get(of[var]);
                        b.not(v);
                        Step::Look(var, line)
                    }
                });
            }
            steps.push(mine);
            // The next block is always one of the targets, so that every block is reached.
            let next = ids.get(i + 1).copied();
            let other = ids[random.below(blocks)];
            b.set_line(0);
            match (next, random.below(3)) {
                (Some(next), 0) => b.jump(next),
                (Some(next), _) => {
                    let c = b.iconst(Type::I1, 1);
                    b.branch(c, next, other);
                }
                (None, 0) => b.jump(other),
                (None, _) => b.terminate(Term::Exit),
            }
        }
        let func = b.finish();
        assert_eq!(verify(&func), Ok(()));
        for _ in 0..8 {
            follow(&func, &steps, vars, &mut random);
        }
    }
}

/// A row of branches with registers alive throughout: what is handed from block to block is only what differs.
#[test]
fn only_what_differs_is_handed_on() {
    let (blocks, vars) = (300, 50);
    let mut b = Builder::new("k");
    let of: Vec<Var> = (0..vars).map(|_| b.new_var(Type::I32)).collect();
    for (i, var) in of.iter().enumerate() {
        let v = b.iconst(Type::I32, i as u64);
        b.set(*var, v);
    }
    for i in 0..blocks {
        let c = b.iconst(Type::I1, 1);
        let (act, next) = (b.new_block(), b.new_block());
        b.branch(c, act, next);
        b.switch_to(act);
        let v = b.get(of[i % 5]);
        let v = b.not(v);
        b.set(of[i % 5], v);
        b.jump(next);
        b.switch_to(next);
    }
    for var in of {
        let v = b.get(var);
        b.not(v);
    }
    let func = b.finish();
    let params: usize = func.blocks.iter().map(|b| b.params.len()).sum();
    assert_eq!(params, blocks);
}
