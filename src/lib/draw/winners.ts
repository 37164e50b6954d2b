import { toHex, u32 } from './bytes.ts';
import type { Entry } from './entry.ts';
import { NUMBERS_LABEL, winningNumbers } from './numbers.ts';
import type { ChatParameters, LegacyParameters, PlacedPrize, Prize, RoundParameters } from './parameters.ts';
import { type Draw, keyedHash, stream } from './stream.ts';

const TIE_LABEL = 'tie/1';
export const TICKET_LABEL = 'ticket/1';

/** A winner, the prize, and the values that determined the winner's place. */
export interface Winner {
  /** 1, 2, 3, … */
  place: number;
  index: number;
  wallet: string;
  /** How many of the entry's numbers were drawn; null for a ticket. */
  matches: number | null;
  /** Tie-breaker among entries with the same number of matches, hex; null for a ticket. */
  tie: string | null;
  prize: Prize;
}

/** The result of a draw, with all intermediate values. */
interface DrawResult {
  /** In a legacy round `drawn` is the index of the winning ticket, and `numbers` is empty. */
  draw: { label: typeof NUMBERS_LABEL | typeof TICKET_LABEL; draws: Draw[]; drawn: number[]; numbers: number[] };
  winners: Winner[];
}

/**
 * Draws a round. Equal arguments always give the same result, on any machine.
 * @param seed result of `drawSeed`
 * @param entries list of all entries, ordered by index
 */
export function drawRound(seed: Uint8Array, parameters: RoundParameters, entries: readonly Entry[]): DrawResult {
  return parameters.kind === 'chat' ? drawChatRound(seed, parameters, entries) : drawLegacyRound(seed, parameters, entries);
}

function drawChatRound(seed: Uint8Array, parameters: ChatParameters, entries: readonly Entry[]): DrawResult {
  const { draws, drawn, numbers } = winningNumbers(seed, parameters.picks, parameters.range);
  return { draw: { label: NUMBERS_LABEL, draws, drawn, numbers }, winners: chatWinners(seed, parameters.prizes, entries, numbers) };
}

/**
 * Returns the winners of a chat round, best first:
 * - Entries are ranked by the number of their matches (numbers that were drawn), most first. Entries without matches win nothing.
 * - Entries with equally many matches are ordered by HMAC-SHA256(seed, "tie/1" ‖ index u32), smallest first (as bytes), then by lower index.
 * - A wallet wins at most once, with its best entry.
 * - The k-th winner gets the k-th prize. Remaining prizes are not given.
 */
export function chatWinners(seed: Uint8Array, prizes: readonly PlacedPrize[], entries: readonly Entry[], numbers: readonly number[]): Winner[] {
  const hash = keyedHash(seed, TIE_LABEL);
  const tieOf = (index: number) => toHex(hash(u32(index)));
  const byMatches = groupByMatches(entries, numbers);
  const winners: Winner[] = [];
  const won = new Set<string>();
  // Tie-breakers are computed only while prizes are left.
  for (let matches = numbers.length; matches > 0 && winners.length < prizes.length; matches--) {
    const candidates = (byMatches[matches] ?? [])
      .filter(({ wallet }) => !won.has(wallet))
      .map(({ index, wallet }) => ({ index, wallet, tie: tieOf(index) }))
      .sort((a, b) => (a.tie === b.tie ? a.index - b.index : a.tie < b.tie ? -1 : 1));
    for (const { index, wallet, tie } of candidates) {
      const prize = prizes[winners.length];
      if (prize === undefined) break;
      if (won.has(wallet)) continue;
      won.add(wallet);
      const { place, amount, mint } = prize;
      winners.push({ place, index, wallet, matches, tie, prize: { amount, mint } });
    }
  }
  return winners;
}

/** Groups entries by how many of their numbers were drawn. */
function groupByMatches(entries: readonly Entry[], numbers: readonly number[]): Entry[][] {
  const groups: Entry[][] = Array.from({ length: numbers.length + 1 }, () => []);
  const isDrawn: boolean[] = [];
  for (const number of numbers) isDrawn[number] = true;
  for (const entry of entries) {
    let matches = 0;
    for (const number of entry.numbers) if (isDrawn[number]) matches++;
    groups[matches]?.push(entry);
  }
  return groups;
}

/**
 * Returns the winner of a legacy round of n ≥ 1 tickets. The index of the winning ticket, between 0 and n − 1, is drawn from the stream "ticket/1" of
 * the seed. The prize is the price of all n tickets.
 */
function drawLegacyRound(seed: Uint8Array, { ticketPrice, mint }: LegacyParameters, entries: readonly Entry[]): DrawResult {
  const ticket = stream(seed, TICKET_LABEL)(entries.length);
  const winner = entries[ticket.value];
  if (winner === undefined) throw new Error(`there is no ticket ${ticket.value}`);
  const prize = { amount: (BigInt(ticketPrice) * BigInt(entries.length)).toString(), mint };
  return {
    draw: { label: TICKET_LABEL, draws: [ticket], drawn: [ticket.value], numbers: [] },
    winners: [{ place: 1, index: winner.index, wallet: winner.wallet, matches: null, tie: null, prize }],
  };
}
