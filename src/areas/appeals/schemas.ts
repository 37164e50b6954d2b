import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { Id, Instant, line, Wallet } from '#lib/scalars.ts';
import { APPEAL_KINDS, APPEAL_STATES } from './entities.ts';

/** Maximum characters of an appeal, and of its answer. */
const MAX_TEXT = 1_000;

const kind = z.enum(APPEAL_KINDS).meta({
  description:
    'score: a score that is held, rejected or voided. ban: the ban of the wallet. clip: a removed clip. chat: a deleted message, or without an id a mute or ban in chat.',
  example: 'score',
});

export const AppealRequest = z
  .strictObject({ kind, id: Id.optional().meta({ description: 'Id of the score, clip or message.' }), text: line(MAX_TEXT) })
  .refine((body) => body.kind !== 'ban' || body.id === undefined, { path: ['id'], error: 'must be absent with the kind ban' })
  .refine((body) => (body.kind !== 'score' && body.kind !== 'clip') || body.id !== undefined, {
    path: ['id'],
    error: 'is required with the kinds score and clip',
  })
  .meta({
    id: 'AppealRequest',
    example: { kind: 'score', id: '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a', text: 'I practised this level for a month.' },
  });
export type AppealRequest = z.output<typeof AppealRequest>;

export const OwnAppeal = z
  .strictObject({
    appealId: Id,
    kind,
    caseId: Id.nullable().meta({ description: 'Id of the score, clip or message; null for a ban or a mute.' }),
    since: Instant.meta({ description: 'Time of the decision that the appeal answers.' }),
    text: z.string().meta({ example: 'I practised this level for a month.' }),
    at: Instant,
    status: z.enum(APPEAL_STATES).meta({ example: 'open' }),
    answer: z.string().nullable().meta({ description: 'Answer of the operator; null while the appeal is open.', example: null }),
    decidedAt: Instant.nullable().meta({ example: null }),
  })
  .meta({ id: 'OwnAppeal' });
export type OwnAppeal = z.input<typeof OwnAppeal>;

export const AppealView = OwnAppeal.extend({
  wallet: Wallet,
  decidedBy: z.string().nullable().meta({ description: 'Name of the admin token.', example: null }),
}).meta({ id: 'Appeal' });
export type AppealView = z.input<typeof AppealView>;

export const AppealsQuery = PageQuery.extend({
  status: z.enum(APPEAL_STATES).default('open').meta({ description: 'Only appeals with this status.' }),
  wallet: Wallet.optional().meta({ description: 'Only appeals of this wallet.' }),
});

export const AppealPath = z.strictObject({ id: Id.meta({ description: 'The id of the appeal.' }) });

export const AppealDecision = z
  .strictObject({
    decision: z.enum(['grant', 'refuse']),
    answer: line(MAX_TEXT).meta({ description: 'What the wallet reads as the answer.' }),
  })
  .meta({ id: 'AppealDecision', example: { decision: 'grant', answer: 'You are right; the score counts again.' } });
export type AppealDecision = z.output<typeof AppealDecision>;
