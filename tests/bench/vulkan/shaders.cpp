// SPDX-License-Identifier: Apache-2.0
#include "shaders.hpp"

#include "bump_by_hand.h"
#include "bump_ours.h"
#include "copy_by_fours.h"
#include "copy_by_words.h"
#include "integers_by_hand.h"
#include "products_f32.h"
#include "products_f64.h"
#include "spin_by_hand.h"
#include "spin_ours.h"
#include "take_ours.h"

namespace weir::bench::vulkan {

const Shader take{shader_take_ours, shader_take_ours};
const Shader bump{shader_bump_ours, shader_bump_by_hand};
const Shader spin{shader_spin_ours, shader_spin_by_hand};
const Words products_f32 = shader_products_f32;
const Words products_f64 = shader_products_f64;
const Words integers = shader_integers_by_hand;
const Words copy_by_words = shader_copy_by_words;
const Words copy_by_fours = shader_copy_by_fours;

}  // namespace weir::bench::vulkan
