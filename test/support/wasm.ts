import { Writer } from '#lib/replay/binary.ts';
import { BULK, EMPTY_BLOCK, OP, TYPE } from '#lib/replay/instructions.ts';

/** Parts of a module for tests. Each body is the code of a function without its local variables and its `end`. */
export interface ModuleParts {
  start?: number[];
  tick?: number[];
  score?: number[];
  /** Additional functions with the type of `tick`. Their indices begin at 3. */
  functions?: number[][];
  /** Minimum and maximum pages of the memory. */
  memory?: [number, number];
  /** Sections to add, by id: their contents. */
  sections?: Record<number, number[]>;
  /** Additional exports of the function `tick`. */
  names?: string[];
  /** Local variables of `tick`: their types. */
  locals?: number[];
  /** Local variables of each additional function: their types. */
  functionLocals?: number[];
}

const i32 = (value: number): number[] => [...new Writer().byte(OP.i32Const).signed(value).finish()];
const i64 = (value: number): number[] => [...new Writer().byte(OP.i64Const).signed(value).finish()];
/** Code for tests. */
export const code = {
  i32,
  i64,
  input: [OP.localGet, 0],
  endlessLoop: [OP.loop, EMPTY_BLOCK, OP.br, 0, OP.end],
  call: (index: number) => [...code.input, OP.call, index],
  fill: (length: number) => [...i32(0), ...i32(0), ...i32(length), OP.prefix, BULK.memoryFill, 0],
};

/** Returns a module that exports `start`, `tick` and `score`: by default a game that never ends and has the score 7. */
export function buildModule(parts: ModuleParts = {}): Uint8Array<ArrayBuffer> {
  const {
    start = [],
    tick = i32(0),
    score = i64(7),
    functions = [],
    memory = [1, 1],
    sections = {},
    names = [],
    locals = [],
    functionLocals = [],
  } = parts;
  const list = (items: number[][]): number[] => [...new Writer().u32(items.length).bytes(items.flat()).finish()];
  const sized = (bytes: number[]): number[] => [...new Writer().sized(Uint8Array.from(bytes)).finish()];
  const named = (name: string, index: number): number[] => [...sized([...new TextEncoder().encode(name)]), 0, index];
  const body = (bytes: number[], types: number[] = []): number[] => sized([...list(types.map((type) => [1, type])), ...bytes, OP.end]);
  const all: Record<number, number[]> = {
    1: list([
      [0x60, 4, TYPE.i32, TYPE.i32, TYPE.i32, TYPE.i32, 0],
      [0x60, 1, TYPE.i32, 1, TYPE.i32],
      [0x60, 0, 1, TYPE.i64],
    ]),
    3: list([[0], [1], [2], ...functions.map(() => [1])]),
    5: [1, 1, ...memory.flatMap((pages) => [...new Writer().u32(pages).finish()])],
    7: list([named('start', 0), named('tick', 1), named('score', 2), ...names.map((name) => named(name, 1))]),
    10: list([body(start), body(tick, locals), body(score), ...functions.map((one) => body(one, functionLocals))]),
    ...sections,
  };
  const module = new Writer().byte(0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
  for (const id of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11]) {
    const content = all[id];
    if (content) module.byte(id).sized(Uint8Array.from(content));
  }
  return module.finish();
}
