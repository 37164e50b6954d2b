import { base58Bytes, sha256, uuidBytes } from './bytes.ts';
import { type Draw, type Integers, stream } from './stream.ts';

/** The stream that numbers come from. */
export const NUMBERS_LABEL = 'numbers/1';

/** Numbers that were drawn. */
export interface DrawnNumbers {
  draws: Draw[];
  /** In the order in which they were drawn, and ascending. */
  drawn: number[];
  numbers: number[];
}

/**
 * Draws `picks` different numbers of 1 to `range`, by the first steps of a Fisher–Yates shuffle: of the row 1, 2, …, range, for
 * i = 0, 1, …, picks − 1, an integer v is drawn from 0 to range − i − 1, and the places i and i + v (from 0) are swapped;
 * the first `picks` places are the numbers.
 */
export function drawNumbers(integers: Integers, picks: number, range: number): DrawnNumbers {
  const row = Array.from({ length: range }, (_, i) => i + 1);
  const draws: Draw[] = [];
  for (let i = 0; i < picks; i++) {
    const draw = integers(range - i);
    draws.push(draw);
    const [here = 0, there = 0] = [row[i], row[i + draw.value]];
    row[i] = there;
    row[i + draw.value] = here;
  }
  const drawn = row.slice(0, picks);
  return { draws, drawn, numbers: drawn.toSorted((a, b) => a - b) };
}

/** The winning numbers of a seed: drawn from its stream "numbers/1". */
export const winningNumbers = (seed: Uint8Array, picks: number, range: number): DrawnNumbers =>
  drawNumbers(stream(seed, NUMBERS_LABEL), picks, range);

/**
 * The numbers of an entry that was made without any, ascending: drawn as the winning numbers are, from the stream "numbers/1" of the key
 * sha256(entry id, 16 bytes ‖ wallet, 32 bytes). They are in the entry's leaf before anything is drawn.
 */
export function derivedNumbers(entryId: string, wallet: string, { picks, range }: { readonly picks: number; readonly range: number }): number[] {
  return winningNumbers(sha256(Buffer.concat([uuidBytes(entryId), base58Bytes(wallet)])), picks, range).numbers;
}
