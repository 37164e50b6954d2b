import { defineEntity } from '@mikro-orm/core';
import { PlayersTable } from '#areas/points';
import { checks, index, oneOf, reference, text, timestamp, uuid } from '#platform/db/columns.ts';

/** The decisions against which a wallet can appeal. */
export const APPEAL_KINDS = ['score', 'ban', 'clip', 'chat'] as const;
export type AppealKind = (typeof APPEAL_KINDS)[number];
export const APPEAL_STATES = ['open', 'granted', 'refused'] as const;

/** A row is the answer of a wallet to a decision that concerns it. A wallet can answer each decision once. */
export const AppealsTable = defineEntity({
  name: 'Appeals',
  tableName: 'appeals',
  properties: {
    id: uuid().primary(),
    wallet: reference(PlayersTable, 'wallet'),
    kind: oneOf(...APPEAL_KINDS),
    /** The score, clip or message; null for a ban, and for a mute or a ban in chat. */
    caseId: uuid().nullable(),
    /** Time of the decision. */
    since: timestamp(),
    text: text(),
    at: timestamp().defaultRaw('app_now()'),
    status: oneOf(...APPEAL_STATES).default('open'),
    /** The answer of the operator to the wallet; null while the appeal is open. */
    answer: text().nullable(),
    decidedBy: text().nullable(),
    decidedAt: timestamp().nullable(),
  },
  checks: checks(
    "case kind when 'score' then (case_id is not null) when 'clip' then (case_id is not null) when 'ban' then (case_id is null) else true end",
    "((status = 'open') = (decided_at is null)) and ((status = 'open') = (decided_by is null)) and ((status = 'open') = (answer is null))",
  ),
  indexes: [
    index('create index appeals_case on appeals (case_id, id) where case_id is not null'),
    index('create unique index appeals_cause on appeals (wallet, kind, case_id, since) nulls not distinct'),
    index('create index appeals_status on appeals (status, id)'),
    index('create index appeals_wallet on appeals (wallet, id desc)'),
  ],
});

/** Tables of this area. */
export const appealsTables = [AppealsTable] as const;
