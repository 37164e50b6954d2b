import { base58Bytes, concatBytes, sha256, uuidBytes } from './bytes.ts';
import { type Draw, type Integers, stream } from './stream.ts';

/** Label of the random stream from which numbers are drawn. */
export const NUMBERS_LABEL = 'numbers/1';

interface DrawnNumbers {
  draws: Draw[];
  /** `drawn`: the numbers in the order of the draw. `numbers`: the same numbers in ascending order. */
  drawn: number[];
  numbers: number[];
}

/**
 * Draws `picks` different numbers from 1 to `range` with the first steps of a Fisher–Yates shuffle:
 * 1. Start with the list 1, 2, …, range.
 * 2. For i = 0, 1, …, picks − 1: draw an integer v from 0 to range − i − 1, then swap the positions i and i + v (zero-based).
 * 3. The numbers at the first `picks` positions are the result.
 */
function drawNumbers(integers: Integers, picks: number, range: number): DrawnNumbers {
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

/** Returns the winning numbers of a seed. They are drawn from the seed's stream "numbers/1". */
export const winningNumbers = (seed: Uint8Array, picks: number, range: number): DrawnNumbers =>
  drawNumbers(stream(seed, NUMBERS_LABEL), picks, range);

/**
 * Returns the numbers, ascending, of an entry that was submitted without numbers. They are drawn like the winning numbers, from the stream
 * "numbers/1" of the key sha256(entry id, 16 bytes ‖ wallet, 32 bytes). The entry's leaf contains these numbers, so they are fixed before the draw.
 */
export function derivedNumbers(entryId: string, wallet: string, { picks, range }: { readonly picks: number; readonly range: number }): number[] {
  return winningNumbers(sha256(concatBytes(uuidBytes(entryId), base58Bytes(wallet))), picks, range).numbers;
}
