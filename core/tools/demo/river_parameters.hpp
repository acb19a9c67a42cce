// SPDX-License-Identifier: Apache-2.0
// What a river run is made of, with units and where the numbers come from.
#pragma once

namespace weir::demo {

/// Metres, kilograms, seconds, unless a name says otherwise.
struct RiverParameters {
  // Flow
  float gravity = 9.81f;
  /// Manning's roughness, s / m^(1/3). Chow, Open-Channel Hydraulics (1959), table 5-6: winding natural
  /// streams with weeds and stones 0.045 to 0.06.
  float manning = 0.05f;
  /// Part of the largest stable time step that is taken; the scheme keeps depths positive below 1.
  float courant = 0.9f;
  float longest_step = 10;
  /// Water leaves over the border of the terrain and into its holes; a closed border reflects it.
  bool open_border = true;

  // Rain: a cloudburst whose intensity rises and falls linearly (Yen and Chow, J. Hydraul. Div. 106, 1980).
  // 120 mm in three hours return about once in 500 years in the Appalachians (NOAA Atlas 14, volume 2).
  float rain = 0.120f;  ///< metres in all, the mean over the terrain
  float rain_duration = 3 * 3600;
  float rain_peak = 0.375f;  ///< part of the duration until the peak
  /// High ground gets more: from 1 - orographic at the lowest to 1 + orographic at the highest cell, before
  /// scaling to the mean.
  float orographic = 0.4f;

  // Sediment: silt that the flow picks up above a critical shear stress and that settles all the time.
  float erosion_rate =
      2e-4f;  ///< kg / (m^2 s) at twice the critical stress; Partheniades, J. Hydraul. Div. 91 (1965)
  float critical_stress = 3;        ///< N / m^2; firm cohesive soil, Partheniades (1965)
  float settling_velocity = 2e-3f;  ///< m / s; grains of 0.05 mm after Stokes
  float water_density = 1000;       ///< kg / m^3
};

}  // namespace weir::demo
