//! Every example of the manual's pages for these instructions is understood.

use hostwarp_oracle::Oracle;

#[test]
fn examples_of_the_manual_parse() {
    let examples = "
        vmad.s32.s32.u32.sat    r0, r1, r2, -r3;
        vmad.u32.u32.u32.shr15  r0, r1.h0, r2.h0, r3;
        vadd.s32.u32.s32.sat      r1, r2.b0, r3.h0;
        vsub.s32.s32.u32.sat      r1, r2.h1, r3.h1;
        vabsdiff.s32.s32.s32.sat  r1.h0, r2.b0, r3.b2, c;
        vmin.s32.s32.s32.sat.add  r1, r2, r3, c;
        vshl.s32.u32.u32.clamp  r1, r2, r3;
        vshr.u32.u32.u32.wrap   r1, r2, r3.h1;
        vset.s32.u32.lt    r1, r2, r3;
        vset.u32.u32.ne    r1, r2, r3.h1;
        vadd2.s32.s32.u32.sat  r1, r2, r3, r1;
        vsub2.s32.s32.s32.sat  r1.h0, r2.h10, r3.h32, r1;
        vmin2.s32.u32.u32.add  r1.h10, r2.h00, r3.h22, r1;
        vset2.s32.u32.lt      r1, r2, r3, r0;
        vset2.u32.u32.ne.add  r1, r2, r3, r0;
        vadd4.s32.s32.u32.sat  r1, r2, r3, r1;
        vsub4.s32.s32.s32.sat  r1.b0, r2.b3210, r3.b7654, r1;
        vmin4.s32.u32.u32.add  r1.b00, r2.b0000, r3.b2222, r1;
        vset4.s32.u32.lt      r1, r2, r3, r0;
        fma.rn.f16         d0, a0, b0, c0;
        fma.rn.relu.f16    d1, a1, b1, c1;
        fma.rn.oob.f16      d1, a1, b1, c1;
        fma.rn.oob.relu.f16 d1, a1, b1, c1;
        fma.rn.bf16        d1, a1, b1, c1;
        fma.rn.relu.bf16   d1, a1, b1, c1;
        fma.rn.oob.bf16       d1, a1, b1, c1;
        fma.rn.oob.relu.bf16  d1, a1, b1, c1;
        cvt.rn.f16.f32 h0, f0;
        fma.rn.f16x2  p3, p1, p2, p2;   // SIMD
        fma.rn.relu.f16x2  p3, p1, p2, p2;
        fma.rn.oob.f16x2  p3, p1, p2, p2;
        fma.rn.oob.relu.f16x2 p3, p1, p2, p2;
        fma.rn.bf16x2       f2, f0, f1, f1;
        fma.rn.relu.bf16x2  f2, f0, f1, f1;
        fma.rn.oob.bf16x2  f2, f0, f1, f1;
        fma.rn.oob.relu.bf16x2  f2, f0, f1, f1;
        fma.rn.ftz.f32  w,x,y,z;
        fma.rn.f64      d,a,b,c;
        fma.rp.ftz.f32x2 p,q,r,s;
        add.rz.ftz.f32  f1,f2,f3;
        add.rp.ftz.f32x2    d, a, b;
        mul.ftz.f32 circumf,radius,pi
        add.bf16       bd0, ba0, bb0;
        add.rn.bf16    bd1, ba1, bb1;
        mul.f16x2  p3, p1, p2;
        cvt.rn.bf16x2.f32 p4, f4, f5;
        min.ftz.f32  z,z,x;
        min.f64      a,b,c;
        min.NaN.f32  f0,f1,f2;
        min.xorsign.abs.f32 Rd, Ra, Rb;
        min.ftz.f16       h0,h1,h2;
        min.NaN.f16x2     b0,b1,b2;
        min.xorsign.abs.bf16 Rd, Ra, Rb
        neg.ftz.f32  x,f0;
        abs.bf16x2   x1,b1;
        add.u32     x,y,z;
        add.sat.s32 c,c,1;
        add.u16x2   u,v,w;
        add.s8x4.sat p, q, r;
        sub.u8x4 p, q, r;
        min.s16x2.relu u,v,w;
        mad.lo.s32 r,p,q,r;
        abs.s32  r0,a;
        neg.s32  r0,a;
        shr.u16  c,a,2;
        shr.s32  i,i,1;
        shr.b16  k,i,j;
        setp.lt.and.s32  p|q,a,b,r;
        setp.eq.u32      p,i,n;
        setp.lt.and.f16x2  p|q,a,b,r;
        setp.eq.f16    p,i,n;
        setp.gt.or.bf16x2  u|v,c,d,s;
        selp.s32  r0,r,g,p;
        selp.f32  f0,t,x,xp;
    ";
    for example in examples.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Err(error) = Oracle::parse(example) {
            panic!("{example}: {error}");
        }
    }
    // The one example that contradicts its own page's syntax: vset4 has no .max.
    assert!(Oracle::parse("vset4.u32.u32.ne.max  r1, r2, r3, r0;").is_err());
}
