import { type Reader, SimulationError } from './binary.ts';

/** Opcodes of the instructions that metering adds or treats in a special way. */
export const OP = {
  unreachable: 0x00,
  block: 0x02,
  loop: 0x03,
  if: 0x04,
  else: 0x05,
  end: 0x0b,
  br: 0x0c,
  brIf: 0x0d,
  brTable: 0x0e,
  return: 0x0f,
  call: 0x10,
  callIndirect: 0x11,
  select: 0x1b,
  typedSelect: 0x1c,
  localGet: 0x20,
  localSet: 0x21,
  localTee: 0x22,
  globalGet: 0x23,
  globalSet: 0x24,
  f32Store: 0x38,
  f64Store: 0x39,
  memorySize: 0x3f,
  memoryGrow: 0x40,
  i32Const: 0x41,
  i64Const: 0x42,
  f32Const: 0x43,
  f64Const: 0x44,
  i32Eq: 0x46,
  i32GtU: 0x4b,
  i64LtS: 0x53,
  i64LeU: 0x58,
  f32Eq: 0x5b,
  f64Eq: 0x61,
  i32Add: 0x6a,
  i32Sub: 0x6b,
  i64Add: 0x7c,
  i64Sub: 0x7d,
  i64ShrU: 0x88,
  f32Copysign: 0x98,
  f64Copysign: 0xa6,
  i64ExtendI32U: 0xad,
  i32ReinterpretF32: 0xbc,
  i64ReinterpretF64: 0xbd,
  prefix: 0xfc,
} as const;

/** Second bytes of instructions with the prefix 0xfc. Those below `memoryInit` convert numbers. */
export const BULK = { memoryInit: 8, dataDrop: 9, memoryCopy: 10, memoryFill: 11 } as const;

export const EMPTY_BLOCK = 0x40;
const NUMBER_TYPES = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c } as const;
export const TYPE = NUMBER_TYPES;
const NUMBERS: ReadonlySet<number> = new Set(Object.values(NUMBER_TYPES));

/** One instruction of a function: its opcode, the bytes that it occupies, and the function that a call names. */
export interface Instruction {
  readonly opcode: number;
  /** Second opcode after the prefix 0xfc; otherwise 0. */
  readonly bulk: number;
  readonly start: number;
  readonly end: number;
  /** Index of the called function; null where no function is called by its index. */
  readonly callee: number | null;
}

/** Reads a type and refuses all types except the four number types, because references, vectors and exceptions are not allowed. */
export function readNumberType(reader: Reader): number {
  const type = reader.byte();
  if (!NUMBERS.has(type)) throw new SimulationError('the module uses a type other than i32, i64, f32 and f64');
  return type;
}

/**
 * Reads one instruction.
 * @throws SimulationError for instructions that are not allowed: vectors (SIMD), atomics, references, changes of tables, tail calls, exceptions
 */
export function readInstruction(reader: Reader): Instruction {
  const start = reader.offset;
  const opcode = reader.byte();
  let bulk = 0;
  let callee: number | null = null;
  if (opcode === OP.call) callee = reader.u32();
  else if (opcode === OP.prefix) bulk = readPrefixed(reader);
  else skipImmediates(opcode, reader);
  return { opcode, bulk, start, end: reader.offset, callee };
}

function skipImmediates(opcode: number, reader: Reader): void {
  if (opcode === OP.block || opcode === OP.loop || opcode === OP.if) skipBlockType(reader);
  else if (opcode === OP.br || opcode === OP.brIf || isBetween(opcode, OP.localGet, OP.globalSet)) reader.u32();
  else if (opcode === OP.brTable) repeat(reader.u32() + 1, () => reader.u32());
  else if (opcode === OP.callIndirect) repeat(2, () => reader.u32());
  else if (isBetween(opcode, 0x28, 0x3e)) skipMemoryArgument(reader);
  else if (opcode === OP.memorySize || opcode === OP.memoryGrow) reader.u32();
  else if (opcode === OP.typedSelect) repeat(reader.u32(), () => readNumberType(reader));
  else if (opcode === OP.i32Const || opcode === OP.i64Const) reader.skipInteger();
  else if (opcode === OP.f32Const) reader.take(4);
  else if (opcode === OP.f64Const) reader.take(8);
  else if (!isPlain(opcode)) throw new SimulationError(`the module uses the instruction 0x${opcode.toString(16)}, which is not allowed`);
}

function repeat(count: number, read: () => void): void {
  for (let i = 0; i < count; i += 1) read();
}

/** Returns whether an instruction is allowed and has no immediates. */
function isPlain(opcode: number): boolean {
  return (
    opcode <= 0x01 ||
    opcode === OP.else ||
    opcode === OP.end ||
    opcode === OP.return ||
    isBetween(opcode, 0x1a, 0x1b) ||
    isBetween(opcode, 0x45, 0xc4)
  );
}

/** Largest alignment of a memory instruction: 2^3 bytes. */
const MAX_ALIGNMENT = 3;

/** Skips the alignment and the offset of a memory instruction. Refuses larger alignments, because their other bits say that further immediates follow. */
function skipMemoryArgument(reader: Reader): void {
  if (reader.u32() > MAX_ALIGNMENT)
    throw new SimulationError('the module uses a memory instruction with the index of a memory, which is not allowed');
  reader.u32();
}

/** Skips the type of a block: a single byte, or the index of a function type as a signed integer that is not negative. */
function skipBlockType(reader: Reader): void {
  const start = reader.offset;
  const first = reader.byte();
  if (first === EMPTY_BLOCK || NUMBERS.has(first)) return;
  reader.offset = start;
  reader.u32();
  reader.offset -= 1;
  if (reader.byte() >= 0x40) throw new SimulationError('the module uses a type other than i32, i64, f32 and f64');
}

function readPrefixed(reader: Reader): number {
  const second = reader.u32();
  if (second === BULK.memoryInit || second === BULK.memoryCopy) repeat(2, () => reader.u32());
  else if (second === BULK.dataDrop || second === BULK.memoryFill) reader.u32();
  else if (second > BULK.memoryFill) throw new SimulationError(`the module uses the instruction 0xfc ${second}, which is not allowed`);
  return second;
}

const isBetween = (value: number, first: number, last: number): boolean => first <= value && value <= last;
