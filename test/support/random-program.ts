import { OP, TYPE } from '#lib/replay/instructions.ts';
import type { randomGenerator } from './areas/board-model.ts';
import { code, type ModuleParts } from './wasm.ts';

type Random = ReturnType<typeof randomGenerator>;
type NumberType = 'i32' | 'i64' | 'f64';

/** Local variables of `tick` after its parameter: counters of loops, and one variable per type that statements set. */
const COUNTERS = 3;
const VARIABLES = { i32: 1 + COUNTERS, i64: 2 + COUNTERS, f64: 3 + COUNTERS } as const;
const LOCALS = [...new Array<number>(COUNTERS).fill(TYPE.i32), TYPE.i32, TYPE.i64, TYPE.f64];
const DROP = 0x1a;

const BINARY: Readonly<Record<NumberType, readonly number[]>> = {
  // add, sub, mul, div_s, rem_u, and, xor, shl, rotr, eq
  i32: [0x6a, 0x6b, 0x6c, 0x6d, 0x70, 0x71, 0x73, 0x74, 0x78, 0x46],
  i64: [0x7c, 0x7d, 0x7e, 0x7f, 0x82, 0x83, 0x85, 0x86, 0x8a],
  // add, sub, mul, div, min, max
  f64: [0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5],
};
const UNARY: Readonly<Record<NumberType, readonly number[]>> = {
  // clz, popcnt, extend8_s
  i32: [0x67, 0x69, 0xc0],
  i64: [0x79, 0x7b, 0xc4],
  // abs, neg, ceil, sqrt
  f64: [0x99, 0x9a, 0x9b, 0x9f],
};

/**
 * Writes random functions with blocks, loops, branches, calls, arithmetic, floats, memory and traps. No instruction shows the bits of a NaN, so metering
 * changes no result. Each loop ends after a few rounds, and functions call only functions with a higher index, so each program ends.
 */
export class RandomProgram {
  readonly #random: Random;
  #callable: readonly number[] = [];
  #counters = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Returns the parts of a module: `tick` calls the function 4, which calls the function 3. `score` returns the sum of some memory. */
  parts(): ModuleParts {
    const functions = [this.#body([]), this.#body([3])];
    const sum = [0, 8, 16, 24].flatMap((at, i) => [...code.i32(at), 0x29, 3, 0, ...(i === 0 ? [] : [OP.i64Add])]);
    return { tick: this.#body([3, 4]), functions, score: [...sum, ...code.i64(11), OP.i64ShrU], locals: LOCALS, functionLocals: LOCALS };
  }

  /** Returns the body of a function that may call the given functions. */
  #body(callable: readonly number[]): number[] {
    this.#callable = callable;
    this.#counters = 0;
    return [...this.#statements(3, 0), ...this.#value('i32', 2)];
  }

  /** @param labels number of labels that a statement can branch to without repeating a loop */
  #statements(depth: number, labels: number): number[] {
    return Array.from({ length: this.#random.int(1, 4) }, () => this.#statement(depth, labels)).flat();
  }

  #statement(depth: number, labels: number): number[] {
    const kind = this.#random.int(0, depth > 0 ? 8 : 4);
    if (kind === 0) return [...this.#value('i32', 2), OP.localSet, VARIABLES.i32];
    if (kind === 1) return [...this.#value('i64', 2), OP.localSet, VARIABLES.i64];
    if (kind === 2) return [...this.#value('f64', 2), OP.localSet, VARIABLES.f64];
    if (kind === 3) return [...this.#address(), ...this.#value('i64', 2), 0x37, 0, 0];
    if (kind === 4) return labels > 0 ? [...this.#value('i32', 1), OP.brIf, this.#random.int(0, labels - 1)] : [...this.#value('f64', 1), DROP];
    if (kind === 5) return [OP.block, 0x40, ...this.#statements(depth - 1, labels + 1), OP.end];
    if (kind === 6) return this.#branches(depth, labels);
    if (kind === 7) return this.#table(depth, labels);
    return this.#loop(depth);
  }

  #branches(depth: number, labels: number): number[] {
    const [yes, no] = [this.#statements(depth - 1, labels + 1), this.#statements(depth - 1, labels + 1)];
    return [...this.#value('i32', 2), OP.if, 0x40, ...yes, OP.else, ...no, OP.end];
  }

  /** Returns a jump by a table out of one of three blocks, with dead code after the jump. */
  #table(depth: number, labels: number): number[] {
    const jump = [...this.#value('i32', 1), OP.brTable, 2, 0, 1, 2, ...this.#statements(0, labels + 3)];
    const inner = [OP.block, 0x40, OP.block, 0x40, OP.block, 0x40, ...jump, OP.end];
    return [...inner, ...this.#statements(depth - 1, labels + 2), OP.end, ...this.#statements(0, labels + 1), OP.end];
  }

  #loop(depth: number): number[] {
    if (this.#counters === COUNTERS) return [];
    this.#counters += 1;
    const counter = this.#counters;
    const next = [OP.localGet, counter, ...code.i32(1), OP.i32Sub, OP.localTee, counter, OP.brIf, 0];
    return [...code.i32(this.#random.int(1, 5)), OP.localSet, counter, OP.loop, 0x40, ...this.#statements(depth - 1, 0), ...next, OP.end];
  }

  /** Returns code for an address below 64. */
  #address(): number[] {
    return [...this.#value('i32', 1), ...code.i32(63), 0x71];
  }

  #value(type: NumberType, depth: number): number[] {
    const kind = depth === 0 ? this.#random.int(0, 1) : this.#random.int(0, 7);
    if (kind === 0) return this.#constant(type);
    if (kind === 1) return [OP.localGet, type === 'i32' && this.#random.int(0, 1) === 0 ? 0 : VARIABLES[type]];
    if (kind === 2) return [...this.#value(type, depth - 1), this.#pick(UNARY[type])];
    if (kind === 3) return [...this.#value(type, depth - 1), ...this.#value(type, depth - 1), ...this.#value('i32', 0), OP.select];
    if (kind === 4) return this.#converted(type, depth);
    return [...this.#value(type, depth - 1), ...this.#value(type, depth - 1), this.#pick(BINARY[type])];
  }

  #constant(type: NumberType): number[] {
    if (type === 'i32') return code.i32(this.#random.int(0, 100_000));
    if (type === 'i64') return code.i64(this.#random.int(0, 100_000));
    return [OP.f64Const, ...new Uint8Array(Float64Array.of(this.#random.int(-1_000, 1_000) / 8).buffer)];
  }

  /** Returns code that makes a value from values of other types, from the memory, or by a call. */
  #converted(type: NumberType, depth: number): number[] {
    const isFirst = this.#random.int(0, 1) === 0;
    // f64.convert_i32_s
    if (type === 'f64') return [...this.#value('i32', depth - 1), 0xb7];
    // i64.load; i64.trunc_sat_f64_s
    if (type === 'i64') return isFirst ? [...this.#address(), 0x29, 0, 0] : [...this.#value('f64', depth - 1), OP.prefix, 6];
    // f64.lt
    if (isFirst || this.#callable.length === 0) return [...this.#value('f64', depth - 1), ...this.#value('f64', depth - 1), 0x63];
    return [...this.#value('i32', depth - 1), OP.call, this.#pick(this.#callable)];
  }

  #pick<T>(items: readonly T[]): T {
    return items[this.#random.int(0, items.length - 1)] as T;
  }
}
