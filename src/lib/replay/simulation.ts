import { Reader, SimulationError, Writer } from './binary.ts';
import { OP, readInstruction, readNumberType, TYPE } from './instructions.ts';
import { type Meters, readFunction, writeMetered } from './metering.ts';

/** Limits of a module. A page of memory has 64 KiB. */
export const SIMULATION_LIMITS = {
  bytes: 524_288,
  meteredBytes: 4_194_304,
  pages: 256,
  functions: 2_000,
  globals: 1_000,
  exports: 64,
  nameBytes: 64,
  tableEntries: 10_000,
} as const;

/** 2^63 − 1 as LEB128. A client that plays with the module needs no limit. */
const UNLIMITED = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00];

/** Name of the exported global variable with the number of instructions that may still be executed. */
export const FUEL_EXPORT = 'fuel';

/** Ids of the sections of a module, in the order that the format demands. */
const SECTION = {
  custom: 0,
  type: 1,
  import: 2,
  function: 3,
  table: 4,
  memory: 5,
  global: 6,
  export: 7,
  start: 8,
  element: 9,
  dataCount: 12,
  code: 10,
  data: 11,
} as const;
const ORDER: readonly number[] = Object.values(SECTION);
const NAMES: Readonly<Record<number, string>> = {
  1: 'types',
  3: 'functions',
  4: 'tables',
  5: 'memories',
  6: 'globals',
  7: 'exports',
  10: 'functions',
};
const EXPORT_KIND = { function: 0, global: 3 } as const;

/** Functions that each simulation exports. */
const EXPORTS: Readonly<Record<string, FunctionType & { text: string }>> = {
  start: { text: 'start(i32, i32, i32, i32)', parameters: [TYPE.i32, TYPE.i32, TYPE.i32, TYPE.i32], results: [] },
  tick: { text: 'tick(i32) -> i32', parameters: [TYPE.i32], results: [TYPE.i32] },
  score: { text: 'score() -> i64', parameters: [], results: [TYPE.i64] },
};

interface FunctionType {
  readonly parameters: readonly number[];
  readonly results: readonly number[];
}

/**
 * Checks the WebAssembly module of a game and returns the module with metering, which the arcade stores, serves and runs (docs/replays.md).
 * @throws SimulationError with the reason for a module that is not allowed
 */
export function meterSimulation(source: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (source.length > SIMULATION_LIMITS.bytes) throw new SimulationError(`the module must have at most ${SIMULATION_LIMITS.bytes} bytes`);
  if (!WebAssembly.validate(source)) throw new SimulationError('the file must be a valid WebAssembly module');
  const metered = new Writer().bytes(source.subarray(0, 8));
  for (const [id, content] of meterSections(readSections(source))) metered.byte(id).sized(content);
  const module = metered.finish();
  if (module.length > SIMULATION_LIMITS.meteredBytes)
    throw new SimulationError(`the module with metering must have at most ${SIMULATION_LIMITS.meteredBytes} bytes`);
  if (!WebAssembly.validate(module)) throw new SimulationError('the module with metering is not valid');
  checkInstance(module);
  return module;
}

/** Checks that the data and the table of a module fit into its memory and its table. */
function checkInstance(module: Uint8Array<ArrayBuffer>): void {
  try {
    new WebAssembly.Instance(new WebAssembly.Module(module));
  } catch (error) {
    throw error instanceof WebAssembly.RuntimeError ? new SimulationError(`the module cannot be instantiated: ${error.message}`) : error;
  }
}

type Sections = ReadonlyMap<number, Uint8Array>;

/** Reads the sections of a module without the custom sections, which have no meaning for the execution. */
function readSections(source: Uint8Array): Sections {
  const reader = new Reader(source, 8);
  const sections = new Map<number, Uint8Array>();
  while (!reader.isAtEnd) {
    const id = reader.byte();
    const content = reader.take(reader.u32());
    if (!ORDER.includes(id)) throw new SimulationError(`the module has a section of the unknown kind ${id}`);
    if (id !== SECTION.custom) sections.set(id, content);
  }
  return sections;
}

/** Returns the sections of the metered module in their order. */
function meterSections(sections: Sections): [number, Uint8Array][] {
  if (readList(sections, SECTION.import, () => null, Infinity).length > 0) throw new SimulationError('the module must have no imports');
  if (sections.has(SECTION.start)) throw new SimulationError('the module must have no start function');
  const types = readList(sections, SECTION.type, readFunctionType, SIMULATION_LIMITS.functions);
  const functions = readList(sections, SECTION.function, (reader) => typeAt(types, reader.u32()), SIMULATION_LIMITS.functions);
  readList(sections, SECTION.table, checkTable, 1);
  const [maxPages = 0] = readList(sections, SECTION.memory, readMaxPages, 1);
  checkExports(readList(sections, SECTION.export, readExport, SIMULATION_LIMITS.exports), functions);

  readList(sections, SECTION.global, checkGlobal, SIMULATION_LIMITS.globals);
  const globals = splitList(sections, SECTION.global);
  const meters: Meters = { fuel: globals.count, stack: globals.count + 1, maxPages };
  const bodies = readList(
    sections,
    SECTION.code,
    (reader, i) => readFunction(reader, functions[i]?.parameters.length ?? 0),
    SIMULATION_LIMITS.functions,
  );
  const weights = bodies.map(({ weight }) => weight);
  const maxWeight = Math.max(0, ...weights);

  const metered = new Map(sections);
  const fuel = [TYPE.i64, 1, OP.i64Const, ...UNLIMITED, OP.end];
  const stack = [TYPE.i32, 1, OP.i32Const, 0, OP.end];
  metered.set(SECTION.global, joinList(globals.count + 2, globals.items, fuel, stack));
  const exports = splitList(sections, SECTION.export);
  const name = new TextEncoder().encode(FUEL_EXPORT);
  metered.set(
    SECTION.export,
    joinList(exports.count + 1, exports.items, new Writer().sized(name).byte(EXPORT_KIND.global).u32(meters.fuel).finish()),
  );
  const code = bodies.map((body) => new Writer().sized(writeMetered(body, meters, weights, maxWeight)).finish());
  metered.set(SECTION.code, joinList(bodies.length, ...code));
  return ORDER.flatMap((id): [number, Uint8Array][] => {
    const content = metered.get(id);
    return content ? [[id, content]] : [];
  });
}

/** Reads the items of a section that is a list. A missing section is an empty list. */
function readList<T>(sections: Sections, id: number, read: (reader: Reader, i: number) => T, max: number): T[] {
  const { count, items } = splitList(sections, id);
  if (count > max) throw new SimulationError(`the module must have at most ${max} ${NAMES[id] ?? 'items in a section'}`);
  const reader = new Reader(items);
  return Array.from({ length: count }, (_, i) => read(reader, i));
}

/** Returns the number of items of a section that is a list, and the bytes of the items. */
function splitList(sections: Sections, id: number): { count: number; items: Uint8Array } {
  const content = sections.get(id);
  if (!content) return { count: 0, items: new Uint8Array() };
  const reader = new Reader(content);
  const count = reader.u32();
  if (count > content.length) throw new SimulationError('the module ends too early');
  return { count, items: content.subarray(reader.offset) };
}

function joinList(count: number, ...items: ArrayLike<number>[]): Uint8Array {
  const out = new Writer().u32(count);
  for (const item of items) out.bytes(item);
  return out.finish();
}

function readFunctionType(reader: Reader): FunctionType {
  if (reader.byte() !== 0x60) throw new SimulationError('the module must define types of functions only');
  const parameters = Array.from({ length: reader.u32() }, () => readNumberType(reader));
  const results = Array.from({ length: reader.u32() }, () => readNumberType(reader));
  // Each instruction adds at most one value to the stack, so the number of instructions bounds the size of the stack.
  if (results.length > 1) throw new SimulationError('the module uses functions or blocks with several results, which are not allowed');
  return { parameters, results };
}

function typeAt(types: readonly FunctionType[], i: number): FunctionType {
  const type = types[i];
  if (!type) throw new SimulationError('the module names a type that it does not define');
  return type;
}

function checkTable(reader: Reader): void {
  const [kind, flags] = [reader.byte(), reader.byte()];
  if (kind !== 0x70 || flags > 1) throw new SimulationError('a table of the module must hold functions');
  if (reader.u32() > SIMULATION_LIMITS.tableEntries) throw new SimulationError(`a table must have at most ${SIMULATION_LIMITS.tableEntries} entries`);
  if (flags === 1) reader.u32();
}

/** Refuses globals of a type other than the four number types. */
function checkGlobal(reader: Reader): void {
  readNumberType(reader);
  reader.byte();
  let opcode: number;
  do ({ opcode } = readInstruction(reader));
  while (opcode !== OP.end);
}

/** Returns the maximum size of the memory, pages. */
function readMaxPages(reader: Reader): number {
  const flags = reader.byte();
  if (flags > 1) throw new SimulationError('the memory must not be shared and must have 32-bit addresses');
  reader.u32();
  const maxPages = flags === 0 ? Number.POSITIVE_INFINITY : reader.u32();
  if (maxPages > SIMULATION_LIMITS.pages) throw new SimulationError(`the memory must declare a maximum of at most ${SIMULATION_LIMITS.pages} pages`);
  return maxPages;
}

interface Export {
  readonly name: string;
  readonly kind: number;
  readonly index: number;
}

function readExport(reader: Reader): Export {
  const bytes = reader.take(reader.u32());
  if (bytes.length > SIMULATION_LIMITS.nameBytes)
    throw new SimulationError(`the name of an export must have at most ${SIMULATION_LIMITS.nameBytes} bytes`);
  // Keeps a byte order mark at the start of the name, because engines keep it too.
  return { name: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes), kind: reader.byte(), index: reader.u32() };
}

/** Checks that a simulation exports the functions that the arcade calls. Other exports are allowed, for example to draw the game. */
function checkExports(exports: readonly Export[], functions: readonly FunctionType[]): void {
  if (exports.some(({ name }) => name === FUEL_EXPORT)) throw new SimulationError(`the module must not export the name ${FUEL_EXPORT}`);
  for (const [name, { text, parameters, results }] of Object.entries(EXPORTS)) {
    const found = exports.find((one) => one.name === name && one.kind === EXPORT_KIND.function);
    const type = found && functions[found.index];
    const isRight = type && String(type.parameters) === String(parameters) && String(type.results) === String(results);
    if (!isRight) throw new SimulationError(`the module must export the function ${text}`);
  }
}
