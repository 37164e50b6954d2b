import { expect, test } from '@jest/globals';
import { buildAudit } from '#lib/draw/build.ts';
import { NO_ENTRY_RULES } from '#lib/draw/parameters.ts';
import { EXIT_CODES, type Verification, verifyRound } from '#packages/verify/src/index.ts';
import { CHAIN, chatParameters, drawsOf, entriesOf, legacyParameters } from '#test/lib/draw/rounds.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { encodeDraws } from '#test/support/verify/accounts.ts';
import { createWorld, type World } from '#test/support/verify/world.ts';

const random = randomGenerator(23);
const chat = chatParameters();
const entries = entriesOf(chat, 60, 25, random);
const world = (change: (world: World) => void = () => undefined): World => {
  const made = createWorld(chat, entries);
  change(made);
  return made;
};
const last = ({ steps }: Verification) => steps.at(-1);
const pending = (change: (world: World) => void = () => undefined) =>
  world((made) => {
    made.audit = buildAudit({ ...made.facts, beacon: made.facts.beacon && { ...made.facts.beacon, signature: null } }, null);
    made.payouts = null;
    change(made);
  });

test('a drawn and paid chat round is true, with nothing on the house’s word when all is pinned and kept', async () => {
  const made = world();
  const kept = { receipts: [made.receipt(3), made.receipt(59)], announcement: made.facts.announcement, closed: made.facts.closed };
  const verification = await verifyRound(made.options(kept));
  expect(verification.steps.filter(({ outcome }) => outcome !== 'true')).toEqual([]);
  expect(verification).toMatchObject({ verdict: 'true', isDevelopment: false, onTheHousesWord: [] });
  expect(verification.result?.winners).toEqual(made.audit?.winners);
  expect(verification.result?.numbers).toEqual(made.audit?.draw?.numbers);
  expect(verification.steps.find(({ check }) => check === 'receipts')?.detail).toBe('2 receipts fit; 0 entries follow the last one');
});

test('a drawn and paid legacy round is true, and one with free tickets has no prize to pay', async () => {
  for (const ticketPrice of ['2500000', '0']) {
    const legacy = legacyParameters({ ticketPrice });
    const made = createWorld(legacy, entriesOf(legacy, 31, 5, random));
    const verification = await verifyRound(made.options());
    expect(verification.steps.filter(({ outcome }) => outcome !== 'true')).toEqual([]);
    expect(last(verification)?.detail).toMatch(ticketPrice === '0' ? 'there is no prize to pay' : 'all 1 prizes are paid');
  }
});

test('what is neither pinned nor kept is listed as the house’s word', async () => {
  const parameters = chatParameters({ entryRules: { ...NO_ENTRY_RULES, minAcceptedScores: 3 } });
  const made = createWorld(parameters, entries);
  const { pins } = made.options();
  const verification = await verifyRound(made.options({ pins: { beacon: CHAIN.chainHash, program: pins?.program } }));
  expect(verification.verdict).toBe('true');
  expect(verification.onTheHousesWord).toEqual([
    `the address of the draws account, ${parameters.draws}`,
    'that this round, with these rules, was announced before the draw',
    `the address of the treasury, ${parameters.treasury}`,
    'that no accepted entry is missing from the list',
    'that each wallet met the entry rules of the round when it entered',
  ]);
});

test('before the time of the beacon round a committed round cannot be checked, and afterwards the verifier computes the result itself', async () => {
  const result = world().audit?.draw?.numbers;
  const before = pending((made) => {
    made.now = made.drawnAt - 1;
  });
  const early = await verifyRound(before.options());
  expect(early).toMatchObject({ verdict: 'cannot be checked', result: null });
  expect(last(early)?.detail).toContain('the round is committed; its result exists from');
  const soon = await verifyRound(
    pending((made) => {
      made.now = made.drawnAt + 300_000;
    }).options(),
  );
  expect(soon).toMatchObject({ verdict: 'cannot be checked', result: { numbers: result } });
  const overdue = await verifyRound(pending().options());
  expect(overdue).toMatchObject({ verdict: 'late or unpaid', result: { numbers: result } });
  expect(last(overdue)).toMatchObject({ check: 'publication', outcome: 'late' });
});

test('a round whose commitment is missing cannot be checked before its deadline, is late after it, and false against a receipt an hour later', async () => {
  const uncommitted = (ms: number) =>
    world((made) => {
      made.audit = buildAudit({ ...made.facts, commitment: null, beacon: null }, null);
      made.accounts.delete(made.addresses.commitment);
      made.now = Date.parse(chat.closesAt) + ms;
    });
  const [soon, late, never] = [uncommitted(60_000), uncommitted(60_001), uncommitted(3_660_001)];
  expect(last(await verifyRound(soon.options()))?.detail).toContain('not committed yet');
  expect((await verifyRound(soon.options())).verdict).toBe('cannot be checked');
  expect((await verifyRound(late.options({ receipts: [late.receipt(0)] }))).verdict).toBe('late or unpaid');
  expect((await verifyRound(never.options())).verdict).toBe('late or unpaid');
  expect((await verifyRound(never.options({ receipts: [never.receipt(0)] }))).verdict).toBe('false');
});

test('a commitment after its deadline is late, and the result stays true', async () => {
  const parameters = chatParameters({ commitWithinSec: 4 });
  const verification = await verifyRound(createWorld(parameters, entries).options());
  expect(verification.verdict).toBe('late or unpaid');
  expect(verification.steps.filter(({ outcome }) => outcome === 'late').map(({ check }) => check)).toEqual(['times']);
});

test('prizes that are not paid, or were paid late, are named', async () => {
  const unpaid = world((made) => {
    for (const payout of made.payouts?.payouts.slice(1) ?? []) payout.signature = null;
  });
  expect(last(await verifyRound(unpaid.options()))).toMatchObject({ outcome: 'late', detail: '1 of 3 prizes are paid; not paid: places 2, 3' });
  const none = world((made) => {
    made.payouts = null;
  });
  expect(last(await verifyRound(none.options()))?.detail).toBe('0 of 3 prizes are paid; not paid: places 1, 2, 3');
  const late = world((made) => {
    for (const transaction of made.transactions.values()) transaction.blockTime += 3_601;
  });
  const verification = await verifyRound(late.options());
  expect(verification.verdict).toBe('late or unpaid');
  expect(last(verification)?.detail).toMatch(/^paid after .*: places 1, 2, 3$/);
});

test('a void round is true only without entries', async () => {
  const made = createWorld(chat, []);
  made.accounts.delete(made.addresses.commitment);
  made.audit = buildAudit({ ...made.facts, commitment: null, beacon: null, void: 'no-entries' }, null);
  expect(await verifyRound(made.options())).toMatchObject({ verdict: 'true', result: null });
  const receipts = [world().receipt(0)];
  expect(await verifyRound(made.options({ receipts }))).toMatchObject({ verdict: 'false' });
});

test('a draws account under development rules is never true without the consent of the verifier', async () => {
  const made = world((one) => {
    one.accounts.set(one.addresses.draws, { owner: one.addresses.program, data: encodeDraws(drawsOf(CHAIN, { isDevelopment: true })) });
    one.slotMs = 10_000;
  });
  expect(await verifyRound(made.options())).toMatchObject({ verdict: 'cannot be checked', isDevelopment: true });
  expect(await verifyRound(made.options({ development: true }))).toMatchObject({ verdict: 'true', isDevelopment: true });
});

test('a file of entries and a file of the audit replace those of the house', async () => {
  const made = world((one) => {
    one.lines = null;
  });
  const entriesText = world().lines ?? '';
  expect((await verifyRound(made.options({ entries: entriesText }))).verdict).toBe('true');
  const withoutHouse = await verifyRound({ ...made.options({ entries: entriesText, audit: made.audit }), house: undefined });
  expect(withoutHouse.verdict).toBe('cannot be checked');
  expect(last(withoutHouse)?.detail).toBe('the payouts are not given');
  expect(withoutHouse.result?.winners).toHaveLength(3);
});

test('a number that is written as -0 is 0, and payouts may have further fields with any numbers', async () => {
  const made = world((one) => {
    one.lines = one.lines?.replace('"index":0,', '"index": -0.0,') ?? null;
    Object.assign(one.payouts ?? {}, { rate: 1.5 });
  });
  const audit: unknown = JSON.parse(JSON.stringify(made.audit).replaceAll(':0,', ':-0,'));
  const verification = await verifyRound(made.options({ audit, receipts: [made.receipt(0)] }));
  expect([verification.verdict, verification.steps.filter(({ outcome }) => outcome !== 'true')]).toEqual(['true', []]);
});

test('each verdict has its exit code', () => {
  expect(EXIT_CODES).toEqual({ true: 0, false: 1, 'cannot be checked': 2, 'late or unpaid': 3 });
});
