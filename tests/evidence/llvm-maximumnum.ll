; llc -O3 -mcpu=x86-64-v4 llvm-maximumnum.ll -o -
; f(1, NaN) must be 1.0
define float @f(i32 %c, float %q) {
  %x = sitofp i32 %c to float
  %r = call float @llvm.maximumnum.f32(float %x, float %q)
  ret float %r
}
