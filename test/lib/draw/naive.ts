import { createHash, createHmac } from 'node:crypto';
import bs58 from 'bs58';
import { MerkleTree } from 'merkletreejs';
import type { Entry } from '#lib/draw/entry.ts';
import type { RoundParameters } from '#lib/draw/parameters.ts';
import type { PayoutMember } from '#lib/draw/payout.ts';

/** A slow second implementation of the draw, written from its documentation. It shares only types with the service. */

const sha256 = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest();
const hex = (text: string) => Buffer.from(text, 'hex');
const uuid = (text: string) => hex(text.split('-').join(''));
const little = (value: bigint, bytes: number) => Buffer.from(Array.from({ length: bytes }, (_, i) => Number((value >> BigInt(8 * i)) & 255n)));
const u32 = (value: number) => little(BigInt(value), 4);
const u64 = (value: number) => little(BigInt(value), 8);
const prefixed = (...parts: Uint8Array[]) => sha256(...parts.flatMap((part) => [u32(part.length), part]));

/** Canonical JSON for plain objects with ASCII keys and integers: sorted keys, no white space. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.keys(value).sort();
  return `{${members.map((key) => `${JSON.stringify(key)}:${canonical(Reflect.get(value, key))}`).join(',')}}`;
}

export const naiveParametersHash = (parameters: RoundParameters) =>
  prefixed(Buffer.from('coinop/parameters/1'), Buffer.from(canonical(parameters))).toString('hex');

export function naiveLeaf(round: string, entry: Entry): Buffer {
  return sha256(
    Buffer.from([0x02]),
    sha256(Buffer.from('coinop/entry/1')),
    uuid(round),
    u32(entry.index),
    bs58.decode(entry.wallet),
    Buffer.from([entry.numbers.length]),
    Buffer.from(entry.numbers),
    prefixed(Buffer.from(entry.source), Buffer.from(entry.messageId), u64(new Date(entry.at).getTime())),
  );
}

const tree = (round: string, entries: readonly Entry[]) =>
  new MerkleTree(
    entries.map((entry) => naiveLeaf(round, entry)),
    (data: Buffer) => sha256(data),
    { sortPairs: true },
  );
export const naiveRoot = (round: string, entries: readonly Entry[]) => tree(round, entries).getRoot().toString('hex');

/** Returns the running hash after all entries. */
export const naiveRunningHash = (parametersHash: string, round: string, entries: readonly Entry[]) =>
  entries.reduce((hash, entry) => sha256(hash, naiveLeaf(round, entry)), hex(parametersHash)).toString('hex');

export const naiveRoundLeaf = (round: string, root: string, count: number, runningHash: string, parametersHash: string, closedAt: number) => {
  const label = Buffer.from('coinop/round/1');
  return sha256(u32(label.length), label, uuid(round), hex(root), u32(count), hex(runningHash), hex(parametersHash), u64(closedAt)).toString('hex');
};

export const naiveSeed = (round: string, leaf: string, chainHash: string, beaconRound: number, signature: string, blockhash: string) =>
  prefixed(Buffer.from('coinop/draw/2'), uuid(round), hex(leaf), hex(chainHash), u64(beaconRound), sha256(hex(signature)), bs58.decode(blockhash));

export const naiveMembersHash = (members: readonly PayoutMember[]) => {
  const label = Buffer.from('coinop/payout/1');
  const parts = members.flatMap(({ paymentId, round, place, wallet, amount, mint }) => [
    uuid(paymentId),
    round === null ? Buffer.alloc(16) : uuid(round),
    u32(place ?? 0),
    bs58.decode(wallet),
    little(BigInt(amount), 8),
    bs58.decode(mint),
  ]);
  return sha256(u32(label.length), label, u32(members.length), ...parts).toString('hex');
};

/** Returns a function that draws the integers of a stream. */
export function naiveIntegers(key: Uint8Array, label: string): (bound: number) => number {
  let counter = 0;
  return (bound) => {
    for (;;) {
      const block = createHmac('sha256', key).update(label).update(u64(counter++)).digest();
      let raw = 0n;
      for (let i = 7; i >= 0; i--) raw = raw * 256n + BigInt(block[i] ?? 0);
      const n = BigInt(bound);
      if (raw < 2n ** 64n - (2n ** 64n % n)) return Number(raw % n);
    }
  };
}

/** Returns the numbers in the order of the draw. */
export function naiveNumbers(key: Uint8Array, picks: number, range: number): number[] {
  const next = naiveIntegers(key, 'numbers/1');
  const row: number[] = [];
  for (let number = 1; number <= range; number++) row.push(number);
  for (let i = 0; i < picks; i++) {
    const j = i + next(range - i);
    const kept = row[i] ?? 0;
    row[i] = row[j] ?? 0;
    row[j] = kept;
  }
  return row.slice(0, picks);
}

export const naiveDerived = (entryId: string, wallet: string, picks: number, range: number) =>
  naiveNumbers(sha256(uuid(entryId), bs58.decode(wallet)), picks, range).sort((a, b) => a - b);

export const naiveTie = (seed: Uint8Array, index: number) => createHmac('sha256', seed).update('tie/1').update(u32(index)).digest('hex');

/** Returns the indexes of the winning entries, best first. */
export function naiveWinners(seed: Uint8Array, parameters: RoundParameters, entries: readonly Entry[]): number[] {
  if (parameters.kind === 'legacy') return [naiveIntegers(seed, 'ticket/1')(entries.length)];
  const drawn = naiveNumbers(seed, parameters.picks, parameters.range);
  const ranked = entries
    .map(({ index, wallet, numbers }) => ({ index, wallet, matches: numbers.filter((number) => drawn.includes(number)).length }))
    .filter(({ matches }) => matches > 0)
    .map((entry) => ({ ...entry, tie: naiveTie(seed, entry.index) }));
  ranked.sort((a, b) => b.matches - a.matches || (a.tie < b.tie ? -1 : a.tie > b.tie ? 1 : a.index - b.index));
  const best = ranked.filter((entry, place) => ranked.findIndex(({ wallet }) => wallet === entry.wallet) === place);
  return best.slice(0, parameters.prizes.length).map(({ index }) => index);
}
