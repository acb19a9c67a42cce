// SPDX-License-Identifier: Apache-2.0
kernel void sum_values(global long *memory, ulong begin,
                       long v0, long v1, long v2, long v3, long v4, long v5, long v6, long v7, long v8, long v9,
                       long v10, long v11, long v12, long v13, long v14, long v15, long v16, long v17, long v18, long v19,
                       long v20, long v21, long v22, long v23, long v24, long v25, long v26, long v27, long v28, long v29,
                       long v30, long v31, long v32, long v33, long v34, long v35, long v36, long v37, long v38, long v39,
                       long v40, long v41, long v42, long v43, long v44, long v45, long v46, long v47, long v48, long v49,
                       long v50, long v51, long v52, long v53, long v54, long v55, long v56, long v57, long v58, long v59,
                       long v60, long v61, long v62, long v63, long v64, long v65, long v66, long v67, long v68, long v69,
                       long v70, long v71, long v72, long v73, long v74, long v75, long v76, long v77, long v78, long v79,
                       long v80, long v81, long v82, long v83, long v84, long v85, long v86, long v87, long v88, long v89,
                       long v90, long v91, long v92, long v93, long v94, long v95, long v96, long v97, long v98, long v99) {
  global long *out = (global long *)((global char *)memory + begin);
  if (get_global_id(0) != 0) return;
  out[0] = v0 + v1 + v2 + v3 + v4 + v5 + v6 + v7 + v8 + v9 +
           v10 + v11 + v12 + v13 + v14 + v15 + v16 + v17 + v18 + v19 +
           v20 + v21 + v22 + v23 + v24 + v25 + v26 + v27 + v28 + v29 +
           v30 + v31 + v32 + v33 + v34 + v35 + v36 + v37 + v38 + v39 +
           v40 + v41 + v42 + v43 + v44 + v45 + v46 + v47 + v48 + v49 +
           v50 + v51 + v52 + v53 + v54 + v55 + v56 + v57 + v58 + v59 +
           v60 + v61 + v62 + v63 + v64 + v65 + v66 + v67 + v68 + v69 +
           v70 + v71 + v72 + v73 + v74 + v75 + v76 + v77 + v78 + v79 +
           v80 + v81 + v82 + v83 + v84 + v85 + v86 + v87 + v88 + v89 +
           v90 + v91 + v92 + v93 + v94 + v95 + v96 + v97 + v98 + v99;
}
