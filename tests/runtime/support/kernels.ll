; SPDX-License-Identifier: Apache-2.0
; The test kernels of kernels.cpp for AMD GPUs, for blocks of one thread. Argument blocks: kernel_arguments.hpp.

declare i32 @llvm.amdgcn.workgroup.id.x()
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
declare ptr addrspace(4) @llvm.amdgcn.kernarg.segment.ptr()
declare void @llvm.amdgcn.s.sleep(i32)
declare i64 @llvm.readsteadycounter()

define amdgpu_kernel void @nothing() {
  ret void
}

define amdgpu_kernel void @add_value(ptr addrspace(1) %data, i64 %count, i32 %value) {
entry:
  %block = call i32 @llvm.amdgcn.workgroup.id.x()
  %hidden = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %blocks = load i32, ptr addrspace(4) %hidden
  %b = zext i32 %block to i64
  %n = zext i32 %blocks to i64
  %next = add i64 %b, 1
  %from = mul i64 %count, %b
  %to = mul i64 %count, %next
  %begin = sdiv i64 %from, %n
  %end = sdiv i64 %to, %n
  br label %loop
loop:
  %i = phi i64 [%begin, %entry], [%after, %body]
  %done = icmp sge i64 %i, %end
  br i1 %done, label %out, label %body
body:
  %at = getelementptr i32, ptr addrspace(1) %data, i64 %i
  %x = load i32, ptr addrspace(1) %at
  %y = add i32 %x, %value
  store i32 %y, ptr addrspace(1) %at
  %after = add i64 %i, 1
  br label %loop
out:
  ret void
}

define amdgpu_kernel void @multiply(ptr addrspace(1) %data, i64 %count, i32 %value) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%after, %body]
  %done = icmp sge i64 %i, %count
  br i1 %done, label %out, label %body
body:
  %at = getelementptr i32, ptr addrspace(1) %data, i64 %i
  %x = load i32, ptr addrspace(1) %at
  %y = mul i32 %x, %value
  store i32 %y, ptr addrspace(1) %at
  %after = add i64 %i, 1
  br label %loop
out:
  ret void
}

define amdgpu_kernel void @append(ptr addrspace(1) %log, i32 %value) {
  %place = atomicrmw add ptr addrspace(1) %log, i32 1 syncscope("agent") acq_rel
  %behind = add i32 %place, 1
  %at = getelementptr i32, ptr addrspace(1) %log, i32 %behind
  store atomic i32 %value, ptr addrspace(1) %at syncscope("agent") release, align 4
  ret void
}

; Whether *flag reached at_least within 30 seconds, so that a broken runtime fails the test instead of hanging it; the
; counter counts at 100 MHz.
define internal i1 @wait_until(ptr addrspace(1) %flag, i32 %at_least) alwaysinline {
entry:
  %now = call i64 @llvm.readsteadycounter()
  %limit = add i64 %now, 3000000000
  br label %look
look:
  %seen = load atomic i32, ptr addrspace(1) %flag acquire, align 4
  %open = icmp uge i32 %seen, %at_least
  br i1 %open, label %out, label %wait
wait:
  call void @llvm.amdgcn.s.sleep(i32 127)
  %time = call i64 @llvm.readsteadycounter()
  %late = icmp ugt i64 %time, %limit
  br i1 %late, label %out, label %look
out:
  ret i1 %open
}

define amdgpu_kernel void @gate(ptr addrspace(1) %flag, i32 %at_least) {
  %open = call i1 @wait_until(ptr addrspace(1) %flag, i32 %at_least)
  ret void
}

define amdgpu_kernel void @meet(ptr addrspace(1) %counter, i32 %expected, ptr addrspace(1) %met) {
entry:
  %before = atomicrmw add ptr addrspace(1) %counter, i32 1 acq_rel
  %all = call i1 @wait_until(ptr addrspace(1) %counter, i32 %expected)
  br i1 %all, label %together, label %out
together:
  %count = atomicrmw add ptr addrspace(1) %met, i32 1 acq_rel
  br label %out
out:
  ret void
}

define amdgpu_kernel void @fail_at(ptr addrspace(1) %record, i32 %site, i64 %index) {
entry:
  %pair = cmpxchg ptr addrspace(1) %record, i32 0, i32 1 acq_rel monotonic
  %free = extractvalue { i32, i1 } %pair, 1
  br i1 %free, label %write, label %out
write:
  %site.at = getelementptr i8, ptr addrspace(1) %record, i64 4
  store i32 %site, ptr addrspace(1) %site.at
  %index.at = getelementptr i8, ptr addrspace(1) %record, i64 8
  store i64 %index, ptr addrspace(1) %index.at
  %second = getelementptr i8, ptr addrspace(1) %record, i64 16
  store i64 0, ptr addrspace(1) %second
  %third = getelementptr i8, ptr addrspace(1) %record, i64 24
  store i64 0, ptr addrspace(1) %third
  %fourth = getelementptr i8, ptr addrspace(1) %record, i64 32
  store i64 0, ptr addrspace(1) %fourth
  store atomic i32 2, ptr addrspace(1) %record release, align 4
  br label %out
out:
  ret void
}

define amdgpu_kernel void @sum_bytes(ptr addrspace(1) %out, [64 x i8] %bytes) {
entry:
  %block = call ptr addrspace(4) @llvm.amdgcn.kernarg.segment.ptr()
  %begin = getelementptr i8, ptr addrspace(4) %block, i64 8
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%after, %loop]
  %sum = phi i32 [0, %entry], [%more, %loop]
  %at = getelementptr i8, ptr addrspace(4) %begin, i32 %i
  %byte = load i8, ptr addrspace(4) %at
  %wide = zext i8 %byte to i32
  %more = add i32 %sum, %wide
  %after = add i32 %i, 1
  %done = icmp eq i32 %after, 64
  br i1 %done, label %end, label %loop
end:
  store i32 %more, ptr addrspace(1) %out
  ret void
}
