import { type Reader, SimulationError, Writer } from './binary.ts';
import { BULK, EMPTY_BLOCK, type Instruction, OP, readInstruction, readNumberType, TYPE } from './instructions.ts';

/** Maximum number of local variables of a function, parameters included. */
const MAX_LOCALS = 1_000;

/** Maximum size of a function, bytes. */
const MAX_BODY_BYTES = 65_536;

/** Maximum depth of nested calls, as the sum of the weights of the active functions. At 8 bytes per unit, it stays below the stack of every engine. */
const MAX_STACK = 65_536;

/** Weight of each active function in addition to its variables and instructions. */
const FRAME_WEIGHT = 16;

/** A function of the module. */
export interface FunctionBody {
  readonly parameters: number;
  /** Number of local variables, without parameters. */
  readonly locals: number;
  /** The declaration of the local variables as the module has it: the number of groups, and their bytes. */
  readonly groups: { readonly count: number; readonly bytes: Uint8Array };
  readonly instructions: readonly Instruction[];
  readonly source: Reader;
  /** Upper bound of the values that the function keeps on the stack. */
  readonly weight: number;
}

/** −1 as LEB128. */
const MINUS_ONE = [0x7f];

/** Value of the fuel after a growth of the memory that this machine refused although the module allows it. */
export const OUT_OF_MEMORY = -(2n ** 63n);

/** OUT_OF_MEMORY as LEB128. */
const OUT_OF_MEMORY_BYTES = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f];

/** Indices of the two global variables that metering adds, and the maximum size of the memory. */
export interface Meters {
  /** i64: number of instructions that may still be executed. */
  readonly fuel: number;
  /** i32: sum of the weights of the active functions. */
  readonly stack: number;
  /** Pages of 64 KiB. 0 for a module without a memory. */
  readonly maxPages: number;
}

/** Reads a function. */
export function readFunction(reader: Reader, parameters: number): FunctionBody {
  const size = reader.u32();
  if (size > MAX_BODY_BYTES) throw new SimulationError(`a function of the module has more than ${MAX_BODY_BYTES} bytes`);
  const body = reader.part(size);
  const count = body.u32();
  const start = body.offset;
  let locals = 0;
  for (let i = 0; i < count; i += 1) {
    locals += body.u32();
    readNumberType(body);
  }
  if (parameters + locals > MAX_LOCALS) throw new SimulationError(`a function of the module has more than ${MAX_LOCALS} local variables`);
  const groups = { count, bytes: body.between(start, body.offset) };
  const instructions: Instruction[] = [];
  while (!body.isAtEnd) instructions.push(readInstruction(body));
  const weight = FRAME_WEIGHT + parameters + locals + instructions.length;
  return { parameters, locals, groups, instructions, source: body, weight };
}

/** Instructions after which the code continues at a place that other code can jump to, or does not always continue. */
const ENDS_SEGMENT: ReadonlySet<number> = new Set([OP.loop, OP.if, OP.else, OP.end, OP.br, OP.brIf, OP.brTable, OP.return, OP.unreachable]);

/** Cost of a growth of the memory, which takes the time of many instructions. */
const GROWTH_COST = 1_000;

/** Instructions that cost nothing because engines generate no code for them. */
const FREE: ReadonlySet<number> = new Set([0x01, OP.block, OP.loop, OP.else, OP.end]);

/** Instructions that show the bits of a NaN, and the type of the value on top of the stack. */
const SHOWS_NAN: ReadonlyMap<number, 'f32' | 'f64'> = new Map([
  [OP.f32Store, 'f32'],
  [OP.f64Store, 'f64'],
  [OP.f32Copysign, 'f32'],
  [OP.f64Copysign, 'f64'],
  [OP.i32ReinterpretF32, 'f32'],
  [OP.i64ReinterpretF64, 'f64'],
]);

/**
 * Writes a function with metering:
 * - Each run of instructions first takes its length from the fuel. At the start of functions and loops, and for operations on memory ranges, the function
 *   traps when no fuel is left. So each execution ends after a number of instructions that is the same on each machine.
 * - A call adds the weight of the called function to the stack, and traps at a fixed limit. So recursion ends at the same depth on each machine.
 * - A growth of the memory within its maximum succeeds, or ends the replay without a verdict. The specification lets a machine refuse each growth.
 * - A NaN gets its canonical bits before an instruction can show them, because engines may choose these bits.
 * @param weights the weight of each function
 * @param maxWeight the largest weight, for calls through a table
 */
export function writeMetered(body: FunctionBody, meters: Meters, weights: readonly number[], maxWeight: number): Uint8Array {
  const out = new Writer();
  const scratch = body.parameters + body.locals;
  const variables = { length: scratch, f32: scratch + 1, f64: scratch + 2, pages: scratch + 3 };
  out.u32(body.groups.count + 4).bytes(body.groups.bytes);
  for (const type of [TYPE.i32, TYPE.f32, TYPE.f64, TYPE.i32]) out.u32(1).byte(type);
  const { instructions, source } = body;
  instructions.forEach((instruction, i) => {
    const previous = instructions[i - 1];
    if (previous === undefined || ENDS_SEGMENT.has(previous.opcode)) {
      const isChecked = previous === undefined || previous.opcode === OP.loop;
      // A call also takes the time to set the local variables to 0.
      const cost = costFrom(instructions, i) + (previous === undefined ? body.locals : 0);
      writeCharge(out, meters.fuel, cost, isChecked);
    }
    const floating = SHOWS_NAN.get(instruction.opcode);
    if (floating) writeCanonicalNan(out, floating, variables[floating]);
    if (instruction.opcode === OP.prefix && instruction.bulk >= BULK.memoryInit && instruction.bulk !== BULK.dataDrop) {
      writeRangeCharge(out, meters.fuel, variables.length);
    }
    const original = source.between(instruction.start, instruction.end);
    const isCall = instruction.opcode === OP.call || instruction.opcode === OP.callIndirect;
    if (isCall) writeCall(out, meters.stack, original, instruction.callee === null ? maxWeight : (weights[instruction.callee] ?? maxWeight));
    else if (instruction.opcode === OP.memoryGrow) writeGrowth(out, meters, variables);
    else out.bytes(original);
  });
  return out.finish();
}

/** Returns the cost of the instructions from an index on until the code can branch. */
function costFrom(instructions: readonly Instruction[], first: number): number {
  let cost = 0;
  for (let i = first; i < instructions.length; i += 1) {
    const opcode = instructions[i]?.opcode ?? OP.end;
    if (!FREE.has(opcode)) cost += opcode === OP.memoryGrow ? GROWTH_COST : 1;
    if (ENDS_SEGMENT.has(opcode)) break;
  }
  return cost;
}

function writeCharge(out: Writer, fuel: number, cost: number, isChecked: boolean): void {
  if (cost > 0) out.byte(OP.globalGet).u32(fuel).byte(OP.i64Const).signed(cost).byte(OP.i64Sub, OP.globalSet).u32(fuel);
  if (isChecked) writeFuelCheck(out, fuel);
}

function writeFuelCheck(out: Writer, fuel: number): void {
  out.byte(OP.globalGet).u32(fuel).byte(OP.i64Const, 0, OP.i64LtS, OP.if, EMPTY_BLOCK, OP.unreachable, OP.end);
}

/** Takes one unit of fuel per 8 bytes of a memory range. The length of the range is on top of the stack and stays there. */
function writeRangeCharge(out: Writer, fuel: number, length: number): void {
  out.byte(OP.localSet).u32(length).byte(OP.globalGet).u32(fuel);
  out.byte(OP.localGet).u32(length).byte(OP.i64ExtendI32U, OP.i64Const, 3, OP.i64ShrU, OP.i64Sub, OP.globalSet).u32(fuel);
  writeFuelCheck(out, fuel);
  out.byte(OP.localGet).u32(length);
}

/** Replaces a NaN on top of the stack by the canonical NaN. */
function writeCanonicalNan(out: Writer, type: 'f32' | 'f64', variable: number): void {
  out.byte(OP.localTee).u32(variable);
  if (type === 'f32') out.byte(OP.f32Const, 0, 0, 0xc0, 0x7f);
  else out.byte(OP.f64Const, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f);
  out.byte(OP.localGet).u32(variable).byte(OP.localGet).u32(variable);
  out.byte(type === 'f32' ? OP.f32Eq : OP.f64Eq, OP.select);
}

/** Grows the memory by the pages on top of the stack. Sets the fuel to OUT_OF_MEMORY and traps if the growth fails below the maximum of the memory. */
function writeGrowth(out: Writer, { fuel, maxPages }: Meters, { length, pages }: { length: number; pages: number }): void {
  out.byte(OP.localTee).u32(length).byte(OP.memoryGrow, 0, OP.localTee).u32(pages);
  out.byte(OP.i32Const, ...MINUS_ONE, OP.i32Eq, OP.if, EMPTY_BLOCK);
  out.byte(OP.localGet).u32(length).byte(OP.i64ExtendI32U, OP.memorySize, 0, OP.i64ExtendI32U, OP.i64Add);
  out.byte(OP.i64Const).signed(maxPages).byte(OP.i64LeU, OP.if, EMPTY_BLOCK);
  out
    .byte(OP.i64Const, ...OUT_OF_MEMORY_BYTES, OP.globalSet)
    .u32(fuel)
    .byte(OP.unreachable, OP.end, OP.end);
  out.byte(OP.localGet).u32(pages);
}

function writeCall(out: Writer, stack: number, call: Uint8Array, weight: number): void {
  out.byte(OP.globalGet).u32(stack).byte(OP.i32Const).signed(weight).byte(OP.i32Add, OP.globalSet).u32(stack);
  out.byte(OP.globalGet).u32(stack).byte(OP.i32Const).signed(MAX_STACK).byte(OP.i32GtU, OP.if, EMPTY_BLOCK, OP.unreachable, OP.end);
  out.bytes(call);
  out.byte(OP.globalGet).u32(stack).byte(OP.i32Const).signed(weight).byte(OP.i32Sub, OP.globalSet).u32(stack);
}
