import { expect, test } from '@jest/globals';
import { buildAudit } from '#lib/draw/build.ts';
import { entryLine } from '#lib/draw/entry.ts';
import { parametersHash } from '#lib/draw/parameters.ts';
import { membersHash, payoutMemo } from '#lib/draw/payout.ts';
import { signStatement } from '#lib/draw/statements.ts';
import { Unreadable, verifyRound } from '#packages/verify/src/index.ts';
import { addressOf, CHAIN, chatParameters, entriesOf, RECEIPT_KEY, signatureOf, uuidOf } from '#test/lib/draw/rounds.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { becomes, chat, commitment, draws, entries, expectFalse, expectUnknown, first, type LieCase, receipts } from '#test/support/verify/lies.ts';
import { createWorld, type World } from '#test/support/verify/world.ts';

const FALSE: readonly LieCase[] = [
  { name: 'other winning numbers', check: 'result', lie: ({ audit }) => audit?.draw?.numbers.reverse() },
  { name: 'another winner', check: 'result', lie: ({ audit }) => Object.assign(audit?.winners?.[0] ?? {}, { wallet: addressOf('the house') }) },
  { name: 'a smaller prize in the result', check: 'result', lie: ({ audit }) => Object.assign(audit?.winners?.[0]?.prize ?? {}, { amount: '1' }) },
  { name: 'swapped prizes in the rules', check: 'announced', keep: receipts, lie: (world) => becomes(world, swapped()) },
  {
    name: 'other rules than announced',
    check: 'announced',
    keep: ({ facts }) => ({ announcement: facts.announcement }),
    lie: (world) => becomes(world, chatParameters({ picks: 5, range: 51 })),
  },
  { name: 'a withheld entry', check: 'receipts', keep: receipts, lie: (world) => becomes(world, chat, without(41)) },
  { name: 'an inserted entry', check: 'receipts', keep: receipts, lie: (world) => becomes(world, chat, inserted()) },
  {
    name: 'an entry after the kept closing',
    check: 'closing',
    keep: ({ facts }) => ({ closed: facts.closed }),
    lie: (world) => becomes(world, chat, entriesOf(chat, 61, 25, randomGenerator(23))),
  },
  {
    name: 'two kept closings that differ',
    check: 'closing',
    keep: ({ facts: { closed } }) => ({ closed: [closed, signStatement({ ...closed.statement, count: 61 }, RECEIPT_KEY.sign)] }),
    lie: () => undefined,
  },
  {
    name: 'a list that differs from the commitment',
    check: 'entries',
    lie: (world) =>
      Object.assign(world, {
        lines: without(41)
          .map((entry) => `${entryLine(entry)}\n`)
          .join(''),
      }),
  },
  { name: 'entries that the house does not show', check: 'entries', lie: (world) => Object.assign(world, { lines: null }) },
  { name: 'a line that is not an entry', check: 'entries', lie: (world) => Object.assign(world, { lines: `${world.lines}{}\n` }) },
  { name: 'an audit that the house does not show', check: 'audit', lie: (world) => Object.assign(world, { audit: null }) },
  { name: 'an unknown field of the audit', check: 'audit', lie: ({ audit }) => Object.assign(audit ?? {}, { successor: uuidOf('next') }) },
  { name: 'a missing field of the audit', check: 'audit', lie: ({ audit }) => Reflect.deleteProperty(audit ?? {}, 'winners') },
  {
    name: 'a committed round that is void',
    check: 'void',
    lie: (world) => Object.assign(world, { audit: world.audit && { ...world.audit, void: 'no-entries' } }),
  },
  { name: 'a commitment to other entries', check: 'commitment', lie: (world) => commitment(world, { leaf: '00'.repeat(32) }) },
  { name: 'a commitment before the close', check: 'times', lie: (world) => commitment(world, { time: Date.parse(chat.closesAt) / 1_000 - 61 }) },
  {
    name: 'a beacon round long after the lead',
    check: 'times',
    lie: (world) => commitment(world, { beaconRound: world.facts.commitment.beaconRound + 60 }),
  },
  { name: 'a beacon round within the margin', check: 'times', lie: (world) => commitment(world, { time: world.drawnAt / 1_000 - 59 }) },
  { name: 'a commitment that is not on the chain', check: 'commitment', lie: (world) => world.accounts.delete(world.addresses.commitment) },
  { name: 'another slot', check: 'result', lie: ({ audit }) => Object.assign(audit?.commitment ?? {}, { slot: 1 }) },
  {
    name: 'a blockhash of the house’s own',
    check: 'result',
    lie: ({ audit }) => Object.assign(audit?.commitment ?? {}, { blockhash: addressOf('own') }),
  },
  {
    name: 'a beacon signature of the house’s own',
    check: 'result',
    lie: ({ audit }) => Object.assign(audit?.beacon ?? {}, { signature: signatureOf(1) }),
  },
  { name: 'a false genesis of the beacon', check: 'beacon', lie: (world) => draws(world, { genesis: CHAIN.genesisTime + 3 }) },
  { name: 'another beacon chain', check: 'beacon', lie: (world) => draws(world, { chainHash: '00'.repeat(32) }) },
  { name: 'an account that is not the founder’s', check: 'draws', lie: (world) => draws(world, { founder: addressOf('thief') }) },
  { name: 'statements with another key', check: 'statements', lie: (world) => draws(world, { receiptKey: addressOf('key') }) },
  {
    name: 'another treasury',
    check: 'parameters',
    lie: () => undefined,
    keep: (honest) => ({ pins: { ...honest.options().pins, treasury: addressOf('t') } }),
  },
  {
    name: 'another draws account',
    check: 'draws',
    lie: () => undefined,
    keep: (honest) => ({ pins: { ...honest.options().pins, draws: addressOf('d') } }),
  },
  { name: 'another round', check: 'round', lie: (world) => becomesOther(world) },
  {
    name: 'a payment to another wallet',
    check: 'payouts',
    lie: ({ transactions }) => Object.assign(first(transactions).transfers[0] ?? {}, { wallet: addressOf('w') }),
  },
  { name: 'a smaller payment', check: 'payouts', lie: ({ transactions }) => Object.assign(first(transactions).transfers[1] ?? {}, { amount: '1' }) },
  {
    name: 'a payment from another wallet',
    check: 'payouts',
    lie: ({ transactions }) => Object.assign(first(transactions).transfers[1] ?? {}, { from: addressOf('w') }),
  },
  {
    name: 'a payment before the commitment',
    check: 'payouts',
    lie: ({ transactions, facts }) => Object.assign(first(transactions), { slot: facts.commitment.slot }),
  },
  {
    name: 'a failed payment',
    check: 'payouts',
    lie: ({ transactions }) => Object.assign(first(transactions), { err: { InstructionError: [0, 'Custom'] } }),
  },
  { name: 'a payment that does not exist', check: 'payouts', lie: ({ transactions }) => transactions.clear() },
  { name: 'a foreign payment', check: 'payouts', lie: ({ transactions }) => Object.assign(first(transactions), { memos: [] }) },
  {
    name: 'a payment of two batches',
    check: 'payouts',
    lie: ({ transactions }) => first(transactions).memos.push(payoutMemo(uuidOf('b'), membersHash([]))),
  },
  {
    name: 'members that the memo does not name',
    check: 'payouts',
    lie: ({ payouts }) => Object.assign(payouts?.batches[0]?.members[2] ?? {}, { round: null, place: null }),
  },
  {
    name: 'one payment for two places',
    check: 'payouts',
    lie: ({ payouts }) => Object.assign(payouts?.payouts[1] ?? {}, { paymentId: payouts?.payouts[0]?.paymentId }),
  },
  { name: 'a batch without members', check: 'payouts', lie: ({ payouts }) => payouts?.batches.pop() },
];

const without = (index: number) => entries.filter((entry) => entry.index !== index).map((entry, i) => ({ ...entry, index: i }));
const inserted = () =>
  [...entries.slice(0, 20), { ...(entries[20] ?? entries[0]), messageId: 'more' }, ...entries.slice(20)].flatMap((entry, index) =>
    entry.at ? [{ ...entries[0], ...entry, index }] : [],
  ) as typeof entries;
const swapped = () => chatParameters({ prizes: chat.prizes.map((prize, i) => ({ ...prize, amount: chat.prizes.at(-1 - i)?.amount ?? '' })) });
function becomesOther(world: World): void {
  const other = createWorld(chatParameters({ round: uuidOf('other') }), entries);
  Object.assign(world, { audit: other.audit });
}

test.each(FALSE)('a round is false, and the check "$check" names it: $name', expectFalse);

const UNKNOWN: readonly LieCase[] = [
  {
    name: 'a program with an upgrade authority',
    check: 'program',
    lie: ({ accounts, addresses }) => void accounts.get(addresses.programData)?.data.fill(1, 12, 13),
  },
  {
    name: 'a program that was deployed after the commitment',
    check: 'program',
    lie: ({ accounts, addresses }) => void accounts.get(addresses.programData)?.data.fill(1, 9, 10),
  },
  { name: 'another program', check: 'program', lie: ({ accounts, addresses }) => void accounts.get(addresses.programData)?.data.fill(1, 50, 51) },
  { name: 'a clock that runs too fast', check: 'clock', lie: (world) => Object.assign(world, { slotMs: 900 }) },
  { name: 'fewer than 100 slots until the beacon round', check: 'clock', lie: (world) => Object.assign(world, { slotMs: 2_000 }) },
  {
    name: 'a beacon without an answer',
    check: 'beacon',
    lie: ({ signatures, facts }) => signatures.set(facts.commitment.beaconRound, signatureOf(1)),
  },
  {
    name: 'a beacon chain that is not pinned',
    check: 'beacon',
    lie: () => undefined,
    keep: (honest) => ({ pins: { ...honest.options().pins, beacon: undefined } }),
  },
  {
    name: 'a payment before the draw by the clock of the chain',
    check: 'payouts',
    lie: ({ transactions, drawnAt }) => Object.assign(first(transactions), { blockTime: drawnAt / 1_000 - 61 }),
  },
  { name: 'a node of another cluster', check: 'cluster', lie: (world) => Object.assign(world, { genesisHash: addressOf('devnet') }) },
  {
    name: 'a house that does not answer',
    check: 'house',
    lie: () => undefined,
    keep: () => ({ house: () => Promise.reject(new Unreadable('refused')) }),
  },
  { name: 'a node that answers nonsense', check: 'rpc', lie: () => undefined, keep: () => ({ rpc: async () => ({ nonsense: true }) }) },
  {
    name: 'a receipt with a false signature',
    check: 'evidence',
    lie: () => undefined,
    keep: (honest) => ({ receipts: [{ ...honest.receipt(1), signature: '00'.repeat(64) }] }),
  },
  {
    name: 'a receipt of another round',
    check: 'evidence',
    lie: () => undefined,
    keep: () => ({ receipts: [createWorld(chatParameters({ round: uuidOf('other') }), entries).receipt(1)] }),
  },
  { name: 'a newer version of the audit', check: 'audit', lie: ({ audit }) => Object.assign(audit ?? {}, { version: 3 }) },
];

test.each(UNKNOWN)('a round cannot be checked, and the check "$check" says so: $name', expectUnknown);

test('a lie is named although another check is impossible', async () => {
  const world = createWorld(chat, entries);
  world.accounts.get(world.addresses.programData)?.data.fill(1, 12, 13);
  world.audit?.draw?.numbers.reverse();
  expect((await verifyRound(world.options())).verdict).toBe('false');
});

test('a signed statement with a wrong content is false', async () => {
  const world = createWorld(chat, entries);
  const closed = signStatement({ ...world.facts.closed.statement, count: 59, parametersHash: parametersHash(chat) }, RECEIPT_KEY.sign);
  world.audit = buildAudit({ ...world.facts, closed }, entries);
  expect((await verifyRound(world.options())).verdict).toBe('false');
});

test('a node that is behind the house accuses nobody', async () => {
  const world = createWorld(chat, entries);
  world.transactions.clear();
  const { rpc } = world.options();
  const slow = async (method: string, params: readonly unknown[]) => {
    if (typeof rpc === 'string') throw new Error('the node is a function');
    return method === 'getSlot' ? Number(await rpc(method, params)) - 200 : await rpc(method, params);
  };
  expect((await verifyRound(world.options({ rpc: slow }))).verdict).toBe('cannot be checked');
});
