import { expect, test } from '@jest/globals';
import type { Entry } from '#lib/draw/entry.ts';
import { derivedNumbers } from '#lib/draw/numbers.ts';
import { stream } from '#lib/draw/stream.ts';
import { chatWinners, drawRound, TICKET_LABEL, type Winner } from '#lib/draw/winners.ts';
import { addressOf, bytesOf, chatParameters, uuidOf } from './rounds.ts';

/** Number of draws. Seeds are fixed, so results are deterministic; with random seeds a fair draw would pass each test in 999 of 1,000 runs. */
const DRAWS = 100_000;
const seeds = Array.from({ length: DRAWS }, (_, i) => bytesOf(`draw ${i}`));

/** Returns χ² of counts whose expected values are equal. */
function chiSquare(counts: readonly number[]): number {
  const expected = sum(counts) / counts.length;
  return sum(counts.map((count) => (count - expected) ** 2 / expected));
}

/** Returns the 99.9 % quantile of χ² (Wilson–Hilferty approximation; error below 1 % from 5 degrees of freedom on). */
const limitOf = (freedom: number) => freedom * (1 - 2 / (9 * freedom) + 3.0902 * Math.sqrt(2 / (9 * freedom))) ** 3;

const counts = (size: number) => Array.from({ length: size }, () => 0);
function add(into: number[], at: number): void {
  into[at] = (into[at] ?? 0) + 1;
}

const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);
const PRIZES = [30, 20, 10].map((amount, i) => ({ place: i + 1, amount: String(amount), mint: addressOf('reward') }));
const RESERVED = sum(PRIZES.map(({ amount }) => Number(amount)));
const paid = (winners: readonly Winner[]) => sum(winners.map(({ prize }) => Number(prize.amount)));

/** Returns one entry for each of `wallets` wallets. */
const entriesOf = (wallets: number, numbersOf: (index: number) => number[]) =>
  Array.from({ length: wallets }, (_, index): Entry => {
    const wallet = addressOf(`wallet ${index}`);
    return { index, wallet, numbers: numbersOf(index), source: 'coinop', messageId: uuidOf(`${index}`), at: '2026-11-21T12:00:00.000Z' };
  });

test('the χ² test rejects an unfair draw and accepts a fair one', () => {
  expect(limitOf(49)).toBeCloseTo(85.35, 0);
  // A bias of six per cent for one of ten values, and a remainder without rejection.
  const biased = counts(10).map((_, i) => (i === 0 ? 10_600 : 9_933));
  expect(chiSquare(biased)).toBeGreaterThan(limitOf(9));
  const folded = counts(192);
  for (const seed of seeds) add(folded, (seed[0] ?? 0) % 192);
  expect(chiSquare(folded)).toBeGreaterThan(limitOf(191));
});

test('over 100,000 draws all numbers are drawn equally often, and all wallets win each prize equally often', () => {
  // Ten wallets with five of fifty numbers each have equal chances.
  const [picks, range, wallets] = [5, 50, 10];
  const entries = entriesOf(wallets, (index) => Array.from({ length: picks }, (_, i) => picks * index + i + 1));
  const parameters = chatParameters({ picks, range, prizes: PRIZES });
  const numbers = counts(range);
  const places = Array.from({ length: picks }, () => counts(range));
  const pairs = counts(range * range);
  const prizes = [counts(wallets), counts(wallets), counts(wallets)];
  const orders = counts(wallets * wallets);
  let [doubles, excesses] = [0, 0];
  for (const seed of seeds) {
    const { draw, winners } = drawRound(seed, parameters, entries);
    if (new Set(winners.map(({ wallet }) => wallet)).size < winners.length) doubles++;
    if (paid(winners) > RESERVED) excesses++;
    for (const [place, number] of draw.drawn.entries()) {
      add(numbers, number - 1);
      add(places[place] ?? [], number - 1);
    }
    add(pairs, ((draw.drawn[0] ?? 0) - 1) * range + (draw.drawn[1] ?? 0) - 1);
    for (const { place, index } of winners) add(prizes[place - 1] ?? [], index);
    const [first, second] = winners;
    if (first && second) add(orders, first.index * wallets + second.index);
  }
  expect([doubles, excesses]).toEqual([0, 0]);
  // The numbers of one draw are different, which reduces the variance of their counts by this factor.
  expect(chiSquare(numbers) * ((range - 1) / (range - picks))).toBeLessThan(limitOf(range - 1));
  for (const place of places) expect(chiSquare(place)).toBeLessThan(limitOf(range - 1));
  for (const won of prizes) expect(chiSquare(won)).toBeLessThan(limitOf(wallets - 1));
  for (const [counted, size] of [[pairs, range] as const, [orders, wallets] as const]) {
    const possible = counted.filter((_, i) => Math.floor(i / size) !== i % size);
    expect(sum(possible)).toBe(sum(counted));
    expect(chiSquare(possible)).toBeLessThan(limitOf(possible.length - 1));
  }
});

test('over 100,000 draws ties favour no index, and all tickets win equally often', () => {
  const entries = entriesOf(7, () => [1]);
  const [ties, tickets] = [counts(7), counts(1_000)];
  for (const seed of seeds) {
    add(ties, chatWinners(seed, PRIZES.slice(0, 1), entries, [1])[0]?.index ?? -1);
    add(tickets, stream(seed, TICKET_LABEL)(1_000).value);
  }
  expect(sum(ties)).toBe(DRAWS);
  expect(chiSquare(ties)).toBeLessThan(limitOf(6));
  expect(chiSquare(tickets)).toBeLessThan(limitOf(999));
});

test('over 30,000 draws a wallet wins at most once per draw, in proportion to its entries, and no prize is paid twice', () => {
  // Wallets with one, two and five entries of the same numbers, so that only ties decide.
  const owners = [0, 1, 1, 2, 2, 2, 2, 2];
  const entries = entriesOf(owners.length, () => [1, 2]).map((entry) => ({ ...entry, wallet: addressOf(`wallet ${owners[entry.index]}`) }));
  const parameters = chatParameters({ picks: 2, range: 3, prizes: PRIZES, maxEntriesPerWallet: 5 });
  const firsts = counts(3);
  const wrong: string[] = [];
  for (const seed of seeds.slice(0, 30_000)) {
    const { winners } = drawRound(seed, parameters, entries);
    if (new Set(winners.map(({ wallet }) => wallet)).size !== 3) wrong.push(`${winners.length} winners`);
    if (winners.some(({ prize }, k) => prize.amount !== PRIZES[k]?.amount) || paid(winners) !== RESERVED)
      wrong.push(`${paid(winners)} of ${RESERVED}`);
    add(firsts, owners[winners[0]?.index ?? 0] ?? 0);
  }
  expect(wrong).toEqual([]);
  const shares = [1, 2, 5].map((own, wallet) => (firsts[wallet] ?? 0) / own);
  expect(sum(shares.map((share, i) => ([1, 2, 5][i] ?? 0) * (share - 3_750) ** 2)) / 3_750).toBeLessThan(13.8);
});

test('derived numbers are uniformly distributed', () => {
  const all = counts(50);
  const wallets = Array.from({ length: 100 }, (_, i) => addressOf(`wallet ${i}`));
  for (let i = 0; i < 20_000; i++) {
    for (const number of derivedNumbers(uuidOf(`entry ${i}`), wallets[i % 100] ?? '', { picks: 5, range: 50 })) add(all, number - 1);
  }
  expect(chiSquare(all) * (49 / 45)).toBeLessThan(limitOf(49));
});
