import { expect, test } from '@jest/globals';
import { Audit, LandedCommitment } from '#lib/draw/audit.ts';
import { buildAudit } from '#lib/draw/build.ts';
import { Entry } from '#lib/draw/entry.ts';
import { RoundParameters } from '#lib/draw/parameters.ts';
import { SignedAnnouncement, SignedClosed } from '#lib/draw/statements.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { CHAIN, chatParameters, entriesOf, finished, legacyParameters, signatureOf } from './rounds.ts';

/** Returns a copy with the fields of each object in reverse order. */
function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, member]) => [key, turned(member)]),
  );
}

test.each([{ parameters: chatParameters() }, { parameters: legacyParameters() }])(
  'equal facts give the same bytes of JSON, whatever the order of their fields',
  ({ parameters }) => {
    const entries = entriesOf(parameters, 60, 25, randomGenerator(17));
    const facts = finished(parameters, entries);
    const audit = buildAudit(facts, entries);
    const text = JSON.stringify(audit);
    expect(JSON.stringify(buildAudit(facts, entries))).toBe(text);
    const again = {
      parameters: RoundParameters.parse(parameters),
      announcement: SignedAnnouncement.parse(JSON.parse(JSON.stringify(facts.announcement))),
      closed: SignedClosed.parse(JSON.parse(JSON.stringify(facts.closed))),
      entries: { ...facts.entries },
      commitment: LandedCommitment.parse(JSON.parse(JSON.stringify(facts.commitment))),
      beacon: { chain: { ...CHAIN }, signature: signatureOf(audit.beacon?.round ?? 0) },
      void: null,
    };
    const copies = Entry.array().parse(JSON.parse(JSON.stringify(entries)));
    expect(JSON.stringify(buildAudit(again, copies))).toBe(text);
    expect(JSON.stringify(buildAudit(Object.assign({}, again, turned(again)), copies))).toBe(text);
    expect(JSON.stringify(Audit.parse(JSON.parse(text)))).toBe(text);
  },
);
