#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes valley.asc, the small terrain that the river demo ships with: python3 make_terrain.py > valley.asc

A rough upland of smooth random bumps is worn down by rivers: in each of the rounds the land rises a little, every cell
finds its lowest way out, and channels cut down by the stream power law, dz/dt = uplift - k * sqrt(area) * slope (solved
implicitly from the outlets upwards), while slopes creep by diffusion. The southern edge is the base level.
The result is the same on every run: the random numbers come from a small generator of our own.
"""
import heapq
import math

ROWS, COLS, CELL = 204, 240, 60.0  # cells, cells, metres
CUT = 4  # southern rows at the base level, omitted from the file
ROUNDS, STEP = 70, 9000.0  # number of rounds, years per round
UPLIFT = 0.0006  # metres per year in the north, less towards the south
ERODE = 5e-6  # sqrt(1 / m^2) * m / year: hardness of the rock
CREEP = 0.03  # square metres per year
SEED = 20

state = SEED


def random():
    """A number from 0 to 1 (a 64-bit linear congruential generator, upper bits)."""
    global state
    state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
    return (state >> 33) / 2**31


def bumps(period):
    """Random values on a coarse lattice, joined by smooth curves; about -1 to 1."""
    rows, cols = int(ROWS / period) + 3, int(COLS / period) + 3
    knots = [[2 * random() - 1 for _ in range(cols)] for _ in range(rows)]

    def at(r, c):
        i, j = int(r / period), int(c / period)
        u, v = r / period - i, c / period - j
        u, v = u * u * (3 - 2 * u), v * v * (3 - 2 * v)
        north = knots[i][j] * (1 - v) + knots[i][j + 1] * v
        south = knots[i + 1][j] * (1 - v) + knots[i + 1][j + 1] * v
        return north * (1 - u) + south * u

    return at


def neighbours(cell):
    row, col = divmod(cell, COLS)
    for dr in (-1, 0, 1):
        for dc in (-1, 0, 1):
            if (dr or dc) and 0 <= row + dr < ROWS and 0 <= col + dc < COLS:
                yield cell + dr * COLS + dc, CELL * math.hypot(dr, dc)


NEAR = [list(neighbours(cell)) for cell in range(ROWS * COLS)]


def drain(z):
    """Fills hollows; returns for each cell its downstream neighbour and the distance to it."""
    way = [None] * len(z)
    front = [(z[cell], cell) for cell in range((ROWS - 1) * COLS, ROWS * COLS)]
    for _, cell in front:
        way[cell] = (cell, CELL)
    heapq.heapify(front)
    while front:
        level, cell = heapq.heappop(front)
        for near, distance in NEAR[cell]:
            if way[near] is None:
                way[near] = (cell, distance)
                z[near] = max(z[near], level + 0.001 * (1 + random()))
                heapq.heappush(front, (z[near], near))
    for cell in range(len(z)):  # every cell except the outlets now has a lower neighbour
        if way[cell][0] != cell:
            way[cell] = max(NEAR[cell], key=lambda n: (z[cell] - z[n[0]]) / n[1])
    return way


def downstream_first(way):
    """The cells in an order in which each follows its downstream neighbour."""
    above = [[] for _ in way]
    stack = []
    for cell, (target, _) in enumerate(way):
        (stack if target == cell else above[target]).append(cell)
    order = []
    while stack:
        cell = stack.pop()
        order.append(cell)
        stack.extend(above[cell])
    return order


def main():
    layers = [(bumps(period), height) for period, height in ((90, 60), (40, 34), (17, 16), (7, 11), (3, 6))]
    hardness = bumps(55)
    z = [
        200 + 160 * (1 - r / ROWS) + sum(height * layer(r, c) for layer, height in layers)
        for r in range(ROWS)
        for c in range(COLS)
    ]
    for c in range(COLS):
        z[(ROWS - 1) * COLS + c] = 150 + 30 * abs(c / COLS - 0.55)
    for _ in range(ROUNDS):
        way = drain(z)
        order = downstream_first(way)
        area = [CELL * CELL] * len(z)
        for cell in reversed(order):
            if way[cell][0] != cell:
                area[way[cell][0]] += area[cell]
        for cell in order:
            target, distance = way[cell]
            if target == cell:
                continue
            row, col = divmod(cell, COLS)
            rise = UPLIFT * STEP * (1.15 - 0.75 * row / ROWS)
            cut = ERODE * (1 + 0.45 * hardness(row, col)) * STEP * math.sqrt(area[cell]) / distance
            z[cell] = (z[cell] + rise + cut * min(z[target], z[cell] + rise)) / (1 + cut)
        for _ in range(1):
            before = z[:]
            for cell in range(len(z) - COLS):
                around = sum((before[near] - before[cell]) / (distance / CELL) ** 2 for near, distance in NEAR[cell])
                z[cell] += CREEP * STEP / (CELL * CELL) / 3 * around
    print(f"ncols {COLS}\nnrows {ROWS - CUT}\nxllcorner 0\nyllcorner 0\ncellsize {CELL:g}\nNODATA_value -9999")
    for r in range(ROWS - CUT):
        print(" ".join(f"{z[r * COLS + c]:.1f}" for c in range(COLS)))


main()
