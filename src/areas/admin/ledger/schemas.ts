import { z } from 'zod';
import { LEDGER_CAUSES, ledgerId, REVOKE, type StoredEntry } from '#areas/points';
import { PageQuery } from '#lib/paging.ts';
import { dayStart } from '#lib/periods.ts';
import { Day, Instant, line, Points, Wallet } from '#lib/scalars.ts';

const WALLET = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
const CAUSE = '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a';
const ID = `adjustment:adjustment:regular:${WALLET}:${CAUSE}`;
const MAX_POINTS = 1_000_000;

const Source = z.enum([...new Set(LEDGER_CAUSES.map(({ source }) => source))]);
const Mode = z.enum(['regular', 'beta']);
const reason = line(200);

export const LedgerPath = z.object({ id: z.string().meta({ description: 'Id of a ledger entry.', example: ID }) });
export const LedgerQuery = PageQuery.extend({ source: Source.optional().meta({ description: 'Lists entries of this source only.' }) });

/** A ledger entry, as operators see it. */
export const LedgerEntryView = z
  .strictObject({
    id: z.string().meta({ description: 'The unique key of the entry: source, reason, mode, wallet and cause.', example: ID }),
    wallet: z.string().meta({ example: WALLET }),
    mode: Mode,
    source: Source.meta({ description: 'Type of the cause. adjustment: an operator gave or took points.', example: 'adjustment' }),
    cause: z.string().meta({ description: 'Id of the cause: of the score, quest and window, conversion or adjustment.', example: CAUSE }),
    reason: z
      .enum([...new Set(LEDGER_CAUSES.map((cause) => cause.reason))])
      .meta({ description: 'Why the entry was written. revoke: it compensates another entry.', example: 'adjustment' }),
    kind: z
      .enum([...new Set(LEDGER_CAUSES.map(({ kind }) => kind))])
      .meta({ description: 'Origin of the points. It decides which boards count them.', example: 'adjustment' }),
    points: Points.meta({ description: 'Negative when points were taken.', example: 50 }),
    rewards: z
      .boolean()
      .meta({ description: 'Whether the reward epoch of the day counts the points. Epochs never count beta points.', example: false }),
    day: Day.meta({ description: 'UTC day on which the points count.' }),
    at: Instant,
    by: z.string().nullable().meta({ description: 'Name of the admin token; null when no operator wrote the entry.', example: 'admin-1' }),
    note: z.string().nullable().meta({ description: 'Reason that the operator gave.', example: 'lost a score in the outage' }),
    factors: z.looseObject({}).nullable().meta({ description: 'Values from which the points were computed.', example: null }),
    revokedBy: z.string().nullable().meta({ description: 'Id of the entry that compensates this entry.', example: null }),
    revokes: z.string().nullable().meta({ description: 'Id of the entry that this entry compensates.', example: null }),
  })
  .meta({ id: 'LedgerEntry' });

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

export function presentEntry({ sourceId, isRevoked, day, factors, ...entry }: StoredEntry): z.input<typeof LedgerEntryView> {
  const { by, note, ...inputs } = factors ?? {};
  const key = { ...entry, sourceId };
  return {
    ...entry,
    source: Source.parse(entry.source),
    reason: LedgerEntryView.shape.reason.parse(entry.reason),
    id: ledgerId(key),
    cause: sourceId,
    day: dayStart(day).toISOString().slice(0, 10),
    by: textOf(by),
    note: textOf(note),
    factors: Object.keys(inputs).length === 0 ? null : inputs,
    revokedBy: isRevoked ? ledgerId({ ...key, reason: REVOKE }) : null,
    // The sources whose entries can be revoked have one other reason, which has the name of the source.
    revokes: entry.reason === REVOKE ? ledgerId({ ...key, reason: entry.source }) : null,
  };
}

export const RevokeRequest = z
  .strictObject({ reason: reason.meta({ description: 'Why the points are taken back. The list `/ledger/quests` shows this reason to the wallet.' }) })
  .meta({ id: 'RevokeRequest', example: { reason: 'completed for the wrong wallet' } });

export const AdjustmentPath = z.object({ wallet: Wallet });

/** A request that gives points to a wallet or takes points from it. */
export const AdjustmentRequest = z
  .strictObject({
    points: z
      .int()
      .min(-MAX_POINTS)
      .max(MAX_POINTS)
      .refine((points) => points !== 0, 'must not be 0')
      .meta({ description: 'Points to give; negative to take points.', example: 50 }),
    reason: reason.meta({ description: 'Why the points are given or taken.', example: 'lost a score in the outage' }),
    mode: Mode.default('regular'),
    rewards: z.boolean().default(false).meta({
      description: 'Whether the reward epoch of the current day counts the points. false: the points count on boards only.',
      example: false,
    }),
  })
  .refine(({ mode, rewards }) => mode === 'regular' || !rewards, { path: ['rewards'], message: 'must be false for beta points' })
  .meta({ id: 'AdjustmentRequest' });
