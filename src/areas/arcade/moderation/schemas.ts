import { z } from 'zod';
import { Count, Id, Instant, line, Slug, Wallet } from '#lib/scalars.ts';
import { ScoreDetail, ScoreStatus } from '../scores/schemas.ts';

/** The newest appeal about a score. */
const ScoreAppeal = z
  .strictObject({
    appealId: Id,
    text: z.string().meta({ example: 'I practised this level for a month.' }),
    status: z.enum(['open', 'granted', 'refused']).meta({ example: 'open' }),
    at: Instant,
  })
  .meta({ id: 'ScoreAppeal' });

/** A score in the list of moderators. */
export const ModeratedScore = ScoreDetail.extend({
  appeal: ScoreAppeal.nullable().meta({ description: 'The newest appeal of the wallet about the score; null without one.' }),
}).meta({ id: 'ModeratedScore' });
export type ModeratedScore = z.infer<typeof ModeratedScore>;

const filter = {
  wallet: Wallet.optional().meta({ description: 'Only scores of this wallet.' }),
  gameId: Slug.optional().meta({ description: 'Only scores in this game.' }),
  reason: line(100).optional().meta({ description: 'Text that one of the reasons contains; capitals do not matter.', example: 'per second' }),
  before: Instant.optional().meta({ description: 'Only scores that were submitted before this time.' }),
};

export const ScoreFilter = z.object({ status: ScoreStatus.default('held').meta({ description: 'Only scores with this status.' }), ...filter });
export type ScoreFilter = z.output<typeof ScoreFilter>;

/** Maximum scores that one request decides. */
export const MAX_DECISIONS = 500;

export const DecisionsRequest = z
  .strictObject({
    ids: z.array(Id).min(1).max(MAX_DECISIONS).optional().meta({ description: 'The scores to decide.' }),
    filter: z
      .strictObject(filter)
      .refine((fields) => Object.values(fields).some((value) => value !== undefined), 'must have wallet, gameId, reason or before')
      .optional()
      .meta({ description: `The oldest ${MAX_DECISIONS} scores that match all given fields.` }),
    decision: z.enum(['accept', 'reject', 'void']).meta({ description: 'accept, reject: for held scores. void: for accepted scores.' }),
    reason: line(200),
  })
  .refine(({ ids, filter: fields }) => (ids === undefined) !== (fields === undefined), {
    path: ['ids'],
    error: 'or filter must be given, but not both',
  })
  .refine(({ decision, ids, filter: fields }) => decision !== 'void' || ids !== undefined || fields?.wallet !== undefined, {
    path: ['filter', 'wallet'],
    error: 'must be given with the decision void',
  })
  .meta({
    id: 'DecisionsRequest',
    example: { filter: { gameId: 'star-raiders', reason: 'per second' }, decision: 'reject', reason: 'modified client' },
  });
export type DecisionsRequest = z.output<typeof DecisionsRequest>;

export const Decisions = z
  .strictObject({
    decided: Count.meta({ description: 'Scores that this request decided.', example: 120 }),
    skipped: z
      .array(z.strictObject({ scoreId: Id, error: z.string().meta({ example: 'the score is rejected, not held' }) }))
      .meta({ description: 'Scores that the request did not change, for example because they were decided before.' }),
    left: Count.meta({ description: 'Scores that still match the filter; send the request again for them. 0 for ids.', example: 0 }),
  })
  .meta({ id: 'Decisions' });
