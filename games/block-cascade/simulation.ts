// The simulation of Block Cascade in AssemblyScript. It uses integers only and imports nothing, so each machine computes the same game from a seed and
// inputs. The arcade calls `start`, `tick` and `score` (docs/replays.md); the other exports are for drawing.

const WIDTH: i32 = 10;
const HEIGHT: i32 = 20;
const CELLS: i32 = WIDTH * HEIGHT;

/** The game runs 60 ticks per second and ends after three minutes. */
const MAX_TICKS: i32 = 10_800;

// Bits of an input: the buttons that the player holds during a tick.
const LEFT: i32 = 1;
const RIGHT: i32 = 2;
const ROTATE: i32 = 4;
const SOFT_DROP: i32 = 8;
const HARD_DROP: i32 = 16;

/** Ticks until a held LEFT or RIGHT repeats, and ticks between two repeats. */
const REPEAT_DELAY: i32 = 10;
const REPEAT_INTERVAL: i32 = 3;

/** Ticks that a piece can stay on the ground before it locks. */
const LOCK_DELAY: i32 = 30;

/** Points of 0 to 4 lines that one piece completes, multiplied by the level. */
const LINE_POINTS: StaticArray<i32> = [0, 100, 300, 500, 800];

/** Seven kinds of pieces in four rotations each: 4 × 4 cells as bits, row by row, the first cell in the highest bit. */
const SHAPES: StaticArray<u16> = [
  0x0f00, 0x2222, 0x00f0, 0x4444, 0x8e00, 0x6440, 0x0e20, 0x44c0, 0x2e00, 0x4460, 0x0e80, 0xc440, 0x6600, 0x6600, 0x6600, 0x6600, 0x6c00, 0x4620,
  0x06c0, 0x8c40, 0x4e00, 0x4640, 0x0e40, 0x4c40, 0xc600, 0x2640, 0x0c60, 0x4c80,
];

/** Cells of the board: 0 is empty, otherwise the kind of the piece plus 1. */
const board: usize = memory.data(CELLS);
/** Copy of the board with the falling piece, for drawing. */
const picture: usize = memory.data(CELLS);
/** Kinds of pieces in the order in which they appear: each kind once, then all kinds again in a new order. */
const bag: usize = memory.data(7);

let random: u64 = 0;
let bagSize: i32 = 0;
let kind: i32 = 0;
let nextKind: i32 = 0;
let rotation: i32 = 0;
let x: i32 = 0;
let y: i32 = 0;
let ticks: i32 = 0;
let points: i64 = 0;
let lineCount: i32 = 0;
let fallTicks: i32 = 0;
let groundTicks: i32 = 0;
let heldTicks: i32 = 0;
let previousInput: i32 = 0;
let isOver: bool = false;

/** Begins a game. The four integers are the seed. */
export function start(a: i32, b: i32, c: i32, d: i32): void {
  random = mix(mix(((<u64>(<u32>a)) << 32) | <u64>(<u32>b)) ^ (((<u64>(<u32>c)) << 32) | <u64>(<u32>d)));
  memory.fill(board, 0, CELLS);
  bagSize = 0;
  ticks = 0;
  points = 0;
  lineCount = 0;
  previousInput = 0;
  heldTicks = 0;
  isOver = false;
  nextKind = drawKind();
  spawn();
}

/** Continues the game by one tick. Returns 1 when the game has ended. */
export function tick(input: i32): i32 {
  if (isOver) return 1;
  const pressed = input & ~previousInput;
  const direction = (input & RIGHT ? 1 : 0) - (input & LEFT ? 1 : 0);
  heldTicks = direction !== 0 && (pressed & (LEFT | RIGHT)) === 0 ? heldTicks + 1 : 0;
  const repeats = heldTicks >= REPEAT_DELAY && (heldTicks - REPEAT_DELAY) % REPEAT_INTERVAL === 0;
  if (direction !== 0 && ((pressed & (LEFT | RIGHT)) !== 0 || repeats)) move(direction, 0);
  if ((pressed & ROTATE) !== 0) rotate();
  previousInput = input;
  if ((pressed & HARD_DROP) !== 0) {
    while (move(0, 1)) points += 2;
    lock();
  } else fall((input & SOFT_DROP) !== 0);
  ticks += 1;
  if (ticks >= MAX_TICKS) isOver = true;
  return isOver ? 1 : 0;
}

export function score(): i64 {
  return points;
}

/** Returns the address of 200 bytes: the cells of the board with the falling piece, row by row from the top. */
export function draw(): usize {
  memory.copy(picture, board, CELLS);
  if (!isOver) {
    for (let i = 0; i < 16; i += 1) {
      const cell = cellOf(i);
      if (isFilled(i, rotation) && cell >= 0) store<u8>(picture + cell, <u8>(kind + 1));
    }
  }
  return picture;
}

/** Returns the kind of the next piece, 0 to 6. */
export function next(): i32 {
  return nextKind;
}

export function lines(): i32 {
  return lineCount;
}

export function level(): i32 {
  return 1 + lineCount / 10;
}

/** Moves the piece down when its time has come, and locks a piece that has been on the ground for long. */
function fall(isSoft: bool): void {
  const interval: i32 = isSoft ? 2 : max(4, 48 - 4 * (level() - 1));
  fallTicks += 1;
  if (!fits(x, y + 1, rotation)) {
    groundTicks += 1;
    if (groundTicks >= LOCK_DELAY) lock();
  } else if (fallTicks >= interval) {
    fallTicks = 0;
    groundTicks = 0;
    y += 1;
    if (isSoft) points += 1;
  }
}

function move(dx: i32, dy: i32): bool {
  if (!fits(x + dx, y + dy, rotation)) return false;
  x += dx;
  y += dy;
  return true;
}

/** Rotates the piece. If it does not fit, it moves one or two cells aside. */
function rotate(): void {
  const rotated = (rotation + 1) & 3;
  for (let i = 0; i < 5; i += 1) {
    const dx = i === 0 ? 0 : i & 1 ? (i + 1) / 2 : -(i / 2);
    if (fits(x + dx, y, rotated)) {
      x += dx;
      rotation = rotated;
      return;
    }
  }
}

function lock(): void {
  for (let i = 0; i < 16; i += 1) {
    if (!isFilled(i, rotation)) continue;
    const cell = cellOf(i);
    if (cell < 0) {
      isOver = true;
      return;
    }
    store<u8>(board + cell, <u8>(kind + 1));
  }
  const completed = removeLines();
  points += <i64>(LINE_POINTS[completed] * level());
  lineCount += completed;
  spawn();
}

/** Removes the complete lines and returns their number. */
function removeLines(): i32 {
  let target = HEIGHT - 1;
  for (let row = HEIGHT - 1; row >= 0; row -= 1) {
    let isComplete = true;
    for (let column = 0; column < WIDTH; column += 1) {
      const value = load<u8>(board + row * WIDTH + column);
      if (value === 0) isComplete = false;
      store<u8>(board + target * WIDTH + column, value);
    }
    if (!isComplete) target -= 1;
  }
  memory.fill(board, 0, (target + 1) * WIDTH);
  return target + 1;
}

function spawn(): void {
  kind = nextKind;
  nextKind = drawKind();
  rotation = 0;
  x = 3;
  y = -1;
  fallTicks = 0;
  groundTicks = 0;
  if (!fits(x, y, rotation)) isOver = true;
}

function fits(left: i32, top: i32, rotated: i32): bool {
  for (let i = 0; i < 16; i += 1) {
    if (!isFilled(i, rotated)) continue;
    const column = left + (i & 3);
    const row = top + (i >> 2);
    if (column < 0 || column >= WIDTH || row >= HEIGHT) return false;
    if (row >= 0 && load<u8>(board + row * WIDTH + column) !== 0) return false;
  }
  return true;
}

function isFilled(i: i32, rotated: i32): bool {
  return (<i32>SHAPES[kind * 4 + rotated] & (0x8000 >> i)) !== 0;
}

/** Returns the board's cell of a piece's cell; negative when it is above the board. */
function cellOf(i: i32): i32 {
  return (y + (i >> 2)) * WIDTH + x + (i & 3);
}

/** Draws a random kind from the bag, and removes it from the bag. An empty bag is first filled with all seven kinds. */
function drawKind(): i32 {
  if (bagSize === 0) {
    for (let i = 0; i < 7; i += 1) store<u8>(bag + i, <u8>i);
    bagSize = 7;
  }
  random = mix(random);
  const i = <i32>(random % <u64>bagSize);
  const drawn = load<u8>(bag + i);
  bagSize -= 1;
  store<u8>(bag + i, load<u8>(bag + bagSize));
  return <i32>drawn;
}

/** The step of the generator SplitMix64: https://doi.org/10.1145/2660193.2660195 */
function mix(value: u64): u64 {
  let z: u64 = value + 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}
