import { expect, test } from '@jest/globals';
import { drawsAddress } from '#lib/draw/accounts.ts';
import { buildAudit } from '#lib/draw/build.ts';
import type { Entry } from '#lib/draw/entry.ts';
import { membersHash, payoutMemo } from '#lib/draw/payout.ts';
import { signStatement } from '#lib/draw/statements.ts';
import { type Verification, verifyRound } from '#packages/verify/src/index.ts';
import { addressOf, CHAIN, chatParameters, drawsOf, GENESIS_HASH, keyOf, PROGRAM, RECEIPT_KEY, signatureOf, uuidOf } from '#test/lib/draw/rounds.ts';
import { becomes, chat, commitment, entries, expectFalse, expectUnknown, first, type LieCase, receipts } from '#test/support/verify/lies.ts';
import { createWorld, type World } from '#test/support/verify/world.ts';

const SYSTEM_PROGRAM = '11111111111111111111111111111111';
const entry = (index: number): Entry => {
  const found = entries[index];
  if (!found) throw new Error(`there is no entry ${index}`);
  return found;
};
/** Replaces an entry in everything that the house shows, signs and commits. */
const withEntry = (index: number, change: Partial<Entry>) => (world: World) =>
  becomes(world, chat, entries.with(index, { ...entry(index), ...change }));
const second = (iso: string, seconds: number) => new Date(Date.parse(iso) + 1_000 * seconds).toISOString();

/** Replaces the closing by another one that the house signs. */
function close(world: World, change: object): void {
  const closed = signStatement({ ...world.facts.closed.statement, ...change }, RECEIPT_KEY.sign);
  world.audit = buildAudit({ ...world.facts, closed }, entries);
}

/** Changes the members of the paid batch, and the memo of its transaction accordingly. */
function changeMembers(world: World, at: number, change: object): void {
  const [batch] = world.payouts?.batches ?? [];
  Object.assign(batch?.members[at] ?? {}, change);
  first(world.transactions).memos = [payoutMemo(batch?.id ?? '', membersHash(batch?.members ?? []))];
}

const FALSE: readonly LieCase[] = [
  {
    name: 'a void round whose entries are listed',
    check: 'void',
    lie: (world) => {
      world.accounts.delete(world.addresses.commitment);
      world.audit = world.audit && { ...world.audit, void: 'no-entries', commitment: null, beacon: null, draw: null, winners: null };
    },
  },
  {
    name: 'a void round without entries, although a receipt exists',
    check: 'receipts',
    keep: receipts,
    lie: (world) => {
      const empty = createWorld(chat, []);
      world.accounts.delete(world.addresses.commitment);
      world.audit = buildAudit({ ...empty.facts, commitment: null, beacon: null, void: 'no-entries' }, null);
      world.lines = '';
    },
  },
  {
    name: 'a void round, although the kept closing counts entries',
    check: 'closing',
    keep: ({ facts }) => ({ closed: facts.closed }),
    lie: (world) => {
      const empty = createWorld(chat, []);
      world.accounts.delete(world.addresses.commitment);
      world.audit = buildAudit({ ...empty.facts, commitment: null, beacon: null, void: 'no-entries' }, null);
    },
  },
  {
    name: 'a round that is never committed, although a receipt exists',
    check: 'commitment',
    keep: receipts,
    lie: (world) => {
      world.accounts.delete(world.addresses.commitment);
      world.audit = buildAudit({ ...world.facts, commitment: null, beacon: null }, null);
      world.now = Date.parse(chat.closesAt) + 2 * 3_600_000;
    },
  },
  {
    name: 'a draw with a later beacon round',
    check: 'result',
    lie: (world) => {
      const beaconRound = world.facts.commitment.beaconRound + 1;
      const beacon = world.facts.beacon && { ...world.facts.beacon, signature: signatureOf(beaconRound) };
      world.audit = buildAudit({ ...world.facts, commitment: { ...world.facts.commitment, beaconRound }, beacon }, entries);
    },
  },
  {
    name: 'a draw with the blockhash of another block',
    check: 'result',
    lie: (world) => {
      const landed = { ...world.facts.commitment, blockhash: addressOf('another block') };
      world.audit = buildAudit({ ...world.facts, commitment: landed }, entries);
    },
  },
  {
    name: 'a commitment of another round at the address',
    check: 'commitment',
    lie: (world) => commitment(world, { round: uuidOf('other') }),
  },
  {
    name: 'a commitment that names another draws account',
    check: 'commitment',
    lie: (world) => commitment(world, { draws: addressOf('other draws') }),
  },
  {
    name: 'lamports at the address of a commitment that was never made',
    check: 'commitment',
    lie: (world) => world.accounts.set(world.addresses.commitment, { owner: SYSTEM_PROGRAM, data: new Uint8Array() }),
  },
  {
    name: 'a round of another cluster than the pinned one',
    check: 'cluster',
    lie: (world) => becomes(world, chatParameters({ genesisHash: addressOf('devnet') })),
  },
  { name: 'a draws account that is no such account', check: 'draws', lie: (world) => world.accounts.get(world.addresses.draws)?.data.fill(0, 0, 8) },
  { name: 'an unknown flag of the draws account', check: 'draws', lie: (world) => world.accounts.get(world.addresses.draws)?.data.fill(2, 9, 10) },
  {
    name: 'rules whose lead is longer than the window allows',
    check: 'parameters',
    lie: (world) => becomes(world, chatParameters({ leadSec: 301 })),
  },
  { name: 'a chat round that closed before its time', check: 'statements', lie: (world) => close(world, { closedAt: second(chat.closesAt, -60) }) },
  { name: 'a closing with another running hash', check: 'entries', lie: (world) => close(world, { runningHash: '00'.repeat(32) }) },
  {
    name: 'an announcement that somebody else signed',
    check: 'statements',
    lie: ({ audit, facts }) => {
      const announcement = signStatement(facts.announcement.statement, keyOf('another key').sign);
      Object.assign(audit ?? {}, { announcement });
    },
  },
  { name: 'more entries of a wallet than the rules allow', check: 'entries', lie: withEntry(59, { wallet: entry(0).wallet }) },
  { name: 'one message for two entries', check: 'entries', lie: withEntry(33, { source: entry(30).source, messageId: entry(30).messageId }) },
  { name: 'a number above the range', check: 'entries', lie: withEntry(8, { numbers: [1, 2, 3, 4, 51] }) },
  { name: 'a number twice', check: 'entries', lie: withEntry(8, { numbers: [1, 2, 2, 4, 5] }) },
  { name: 'an entry before the round opened', check: 'entries', lie: withEntry(0, { at: second(chat.opensAt, -1) }) },
  { name: 'an entry after the round closed', check: 'entries', lie: withEntry(59, { at: second(chat.closesAt, 1) }) },
  { name: 'entries in another order than accepted', check: 'entries', lie: withEntry(20, { at: entry(40).at }) },
  {
    name: 'other numbers than those of a receipt',
    check: 'receipts',
    keep: receipts,
    lie: withEntry(41, { numbers: [1, 2, 3, 4, 5] }),
  },
  { name: 'another wallet before the entry of a receipt', check: 'receipts', keep: receipts, lie: withEntry(7, { wallet: addressOf('the house') }) },
  {
    name: 'a prize paid in another token',
    check: 'payouts',
    lie: ({ transactions }) => Object.assign(first(transactions).transfers[0] ?? {}, { mint: addressOf('worthless') }),
  },
  { name: 'a member of another round', check: 'payouts', lie: (world) => changeMembers(world, 0, { round: uuidOf('other') }) },
  { name: 'members of swapped places', check: 'payouts', lie: (world) => changeMembers(world, 0, { place: 2 }) },
  {
    name: 'a member more than the transaction pays',
    check: 'payouts',
    lie: (world) => {
      const [batch] = world.payouts?.batches ?? [];
      const [member] = batch?.members ?? [];
      if (member) batch?.members.push({ ...member, paymentId: uuidOf('more') });
      changeMembers(world, 0, {});
    },
  },
  { name: 'the payouts of another round', check: 'payouts', lie: ({ payouts }) => Object.assign(payouts ?? {}, { round: uuidOf('other') }) },
  { name: 'payouts without a field', check: 'payouts', lie: ({ payouts }) => Reflect.deleteProperty(payouts ?? {}, 'batches') },
];

test.each(FALSE)('a round is false, and the check "$check" names it: $name', expectFalse);

const UNKNOWN: readonly LieCase[] = [
  {
    name: 'a draws account of a program of the house',
    check: 'program',
    lie: () => undefined,
    keep: (honest) => ({ pins: { ...honest.options().pins, program: undefined } }),
  },
  {
    name: 'a program that is no program',
    check: 'program',
    lie: ({ accounts, addresses }) => Object.assign(accounts.get(addresses.program) ?? {}, { owner: SYSTEM_PROGRAM }),
  },
  {
    name: 'a node of another cluster, without a pin',
    check: 'cluster',
    lie: (world) => becomes(world, chatParameters({ genesisHash: addressOf('devnet') })),
    keep: (honest) => ({ pins: { ...honest.options().pins, genesisHash: undefined } }),
  },
];

test.each(UNKNOWN)('a round cannot be checked, and the check "$check" says so: $name', expectUnknown);

const named = ({ steps }: Verification) => steps.filter(({ outcome }) => outcome === 'false').map(({ check }) => check);

test('a house with a draws account of its own contradicts the pin and the receipts, and is never believed silently', async () => {
  const own = drawsAddress(PROGRAM, addressOf('the house'));
  const founded = drawsOf(CHAIN, { founder: addressOf('the house'), bump: own.bump });
  const parameters = chatParameters({ draws: own.address });
  const make = () => {
    const world = createWorld(parameters, entries, founded);
    for (const [address, account] of createWorld(chat, entries).accounts) if (!world.accounts.has(address)) world.accounts.set(address, account);
    return world;
  };
  const honest = createWorld(chat, entries);
  const pins = honest.options().pins;
  expect(named(await verifyRound(make().options({ pins })))).toEqual(['parameters']);
  const unpinned = { ...pins, draws: undefined };
  expect(named(await verifyRound(make().options({ pins: unpinned, receipts: [honest.receipt(3)] })))).toEqual(['parameters']);
  const { onTheHousesWord } = await verifyRound(make().options({ pins: unpinned }));
  expect(onTheHousesWord).toContain(`the address of the draws account, ${own.address}`);
});

test('of a hundred rounds for the same entrants, only the one of the receipts counts', async () => {
  const honest = createWorld(chat, entries);
  const kept = honest.receipt(5);
  for (let i = 0; i < 100; i++) {
    const other = createWorld(chatParameters({ round: uuidOf(`candidate ${i}`) }), entries);
    // The house shows a round that it likes better in place of the announced one.
    const shown = createWorld(chat, entries);
    Object.assign(shown, { audit: other.audit, lines: other.lines, payouts: other.payouts });
    for (const [address, account] of other.accounts) shown.accounts.set(address, account);
    expect(named(await verifyRound(shown.options({ receipts: [kept] })))).toEqual(['round']);
    // An entrant whom the house sends to the other round sees that the receipt is of another round.
    const sent = await verifyRound(other.options({ receipts: [kept] }));
    expect([sent.verdict, sent.steps.at(-1)?.check]).toEqual(['cannot be checked', 'evidence']);
  }
  const { onTheHousesWord } = await verifyRound(createWorld(chatParameters({ round: uuidOf('candidate 1') }), entries).options());
  expect(onTheHousesWord).toContain('that this round, with these rules, was announced before the draw');
});

test('a house that hides a committed round from a receipt holder is false', async () => {
  const world = createWorld(chat, entries);
  const kept = { receipts: [world.receipt(5)], pins: { ...world.options().pins, genesisHash: GENESIS_HASH } };
  Object.assign(world, { audit: null, lines: null, payouts: null });
  expect(named(await verifyRound(world.options(kept)))).toEqual(['audit']);
});
