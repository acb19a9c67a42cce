// SPDX-License-Identifier: Apache-2.0
// Parameters of a river run, with units and the sources of the values.
#pragma once

namespace weir::demo {

/// Metres, kilograms, seconds, unless a name says otherwise.
struct RiverParameters {
  // Flow
  float gravity = 9.81f;
  /// Manning's roughness, s / m^(1/3). Chow, Open-Channel Hydraulics (1959), table 5-6: winding natural
  /// streams with weeds and stones 0.045 to 0.06.
  float manning = 0.05f;
  /// Fraction of the largest stable time step; the scheme keeps depths positive below 1.
  float courant = 0.9f;
  float longest_step = 10;
  /// Water leaves across the border of the terrain and into its holes; a closed border reflects it.
  bool open_border = true;

  // Rain: a cloudburst whose intensity rises and falls linearly (Yen and Chow, J. Hydraul. Div. 106, 1980).
  // 120 mm in three hours return about once in 500 years in the Appalachians (NOAA Atlas 14, volume 2).
  float rain = 0.120f;  ///< metres in total, the mean over the terrain
  float rain_duration = 3 * 3600;
  float rain_peak = 0.375f;  ///< fraction of the duration before the peak
  /// High ground receives more rain. The factor is 1 - orographic at the lowest and 1 + orographic at the
  /// highest cell, before scaling to the mean.
  float orographic = 0.4f;

  // Sediment: the flow picks silt up above a critical shear stress; silt settles at all times.
  float erosion_rate =
      2e-4f;  ///< kg / (m^2 s) at twice the critical stress; Partheniades, J. Hydraul. Div. 91 (1965)
  float critical_stress = 3;        ///< N / m^2; firm cohesive soil, Partheniades (1965)
  float settling_velocity = 2e-3f;  ///< m / s; grains of 0.05 mm after Stokes
  float water_density = 1000;       ///< kg / m^3
};

}  // namespace weir::demo
