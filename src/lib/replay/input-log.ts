import { Reader, SimulationError, Writer } from './binary.ts';

/** An input that a game receives for some ticks in a row. */
export interface InputSpan {
  /** Number of ticks, at least 1. */
  readonly ticks: number;
  /** Input of each of these ticks: 32 bits whose meaning the game decides. */
  readonly input: number;
}

/** Maximum size of an input log, bytes. */
export const MAX_LOG_BYTES = 65_536;

/** First byte of each log. */
const VERSION = 1;

/** An input log that does not have the documented form. */
export class InputLogError extends Error {
  override name = 'InputLogError';
}

/**
 * Reads an input log (docs/replays.md): the byte 1, then for each span the number of ticks and the input as unsigned LEB128 integers. Neighbouring spans have
 * different inputs and integers have no redundant bytes, so a play has exactly one log.
 * @throws InputLogError
 */
export function readInputLog(bytes: Uint8Array): InputSpan[] {
  if (bytes.length > MAX_LOG_BYTES) throw new InputLogError(`the log must have at most ${MAX_LOG_BYTES} bytes`);
  if (bytes[0] !== VERSION) throw new InputLogError(`the log must begin with the byte ${VERSION}`);
  const reader = new Reader(bytes, 1);
  const spans: InputSpan[] = [];
  while (!reader.isAtEnd) {
    const ticks = readInteger(reader, bytes);
    const input = readInteger(reader, bytes);
    if (ticks === 0) throw new InputLogError('a span of the log must have at least one tick');
    if (spans.at(-1)?.input === input) throw new InputLogError('neighbouring spans of the log must have different inputs');
    spans.push({ ticks, input });
  }
  return spans;
}

function readInteger(reader: Reader, bytes: Uint8Array): number {
  try {
    const start = reader.offset;
    const value = reader.u32();
    if (reader.offset - start > 1 && bytes[reader.offset - 1] === 0) throw new InputLogError('an integer of the log has a redundant byte');
    return value;
  } catch (error) {
    if (error instanceof SimulationError) throw new InputLogError('the log ends within a span, or an integer has more than 32 bits');
    throw error;
  }
}

/** Writes the input log of a play from the inputs of all its ticks. */
export function writeInputLog(inputs: readonly number[]): Uint8Array<ArrayBuffer> {
  const out = new Writer().byte(VERSION);
  for (let first = 0; first < inputs.length; ) {
    const input = inputs[first] ?? 0;
    let end = first + 1;
    while (end < inputs.length && inputs[end] === input) end += 1;
    out.u32(end - first).u32(input);
    first = end;
  }
  return out.finish();
}
