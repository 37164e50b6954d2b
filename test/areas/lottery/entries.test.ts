import { expect, test } from '@jest/globals';
import { type LockedRound, takesEntries } from '#areas/lottery/entries.ts';
import { refusalReason } from '#areas/lottery/legacy/decide.ts';
import { parametersHash } from '#lib/draw/parameters.ts';
import { finished, legacyParameters } from '#test/lib/draw/rounds.ts';

const CLOSES_AT = Date.parse('2026-01-01T12:00:00.000Z');

/** Returns an active legacy round that is locked at a time relative to its closing time. */
function roundAt(ms: number, state: LockedRound['state'] = 'active'): LockedRound {
  const id = '00000000-0000-4000-8000-000000000001';
  const times = { opensAt: '2026-01-01T00:00:00.000Z', closesAt: new Date(CLOSES_AT).toISOString() };
  const parameters = legacyParameters({ round: id, ticketPrice: '0', ...times });
  const { announcement } = finished(parameters, []);
  const opened = { parameters, parametersHash: parametersHash(parameters), announcement, runningHash: Buffer.alloc(32), lastEntryAt: null };
  return { id, kind: 'legacy', state, ...opened, entries: 0, now: CLOSES_AT + ms, closesAt: CLOSES_AT };
}

test('a round takes entries in the last millisecond before its closing time and none from the closing time on', () => {
  expect([-1, 0, 1].map((ms) => takesEntries(roundAt(ms)))).toEqual([true, false, false]);
  expect(takesEntries(roundAt(-1, 'closing'))).toBe(false);
});

test('a free ticket is refused from the closing time on', () => {
  expect([-1, 0].map((ms) => refusalReason(roundAt(ms), null))).toEqual([null, 'the round is closed']);
});

test('a paid ticket is accepted after the closing time only if its payment was made before the closing time', () => {
  const paidAt = (ms: number) => new Date(CLOSES_AT + ms).toISOString();
  expect([-1, 0].map((ms) => refusalReason(roundAt(60_000), paidAt(ms)))).toEqual([null, 'the round is closed']);
  expect(refusalReason(roundAt(60_000, 'closing'), paidAt(-1))).toBe('the round is closed');
});
