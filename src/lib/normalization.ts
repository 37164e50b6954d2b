import { z } from 'zod';
import { RawScore } from './scalars.ts';

/** Maximum normalized score of every game. */
export const SCALE = 10_000;

/**
 * The rule that converts a raw score to 0…10,000.
 * `min`, `max`: the limits of the raw score.
 * `direction`: whether a higher or a lower raw score is better.
 * `points`: for the method `piecewise` only, the points between which the score is interpolated.
 */
export const Normalization = z
  .strictObject({
    method: z.enum(['linear', 'log', 'piecewise']),
    min: RawScore,
    max: RawScore,
    direction: z.enum(['higher', 'lower']),
    points: z
      .array(z.strictObject({ score: RawScore, normalized: z.int().min(0).max(SCALE) }))
      .min(2)
      .max(32)
      .optional(),
  })
  .refine((n) => n.min < n.max, { path: ['max'], message: 'must be above min' })
  .refine((n) => (n.method === 'piecewise') === (n.points !== undefined), {
    path: ['points'],
    message: 'must be given for piecewise, and only for piecewise',
  })
  .refine((n) => (n.points ?? []).every((p, i, all) => i === 0 || p.score > (all[i - 1]?.score ?? 0)), {
    path: ['points'],
    message: 'must be in ascending order of score',
  })
  .refine((n) => (n.points ?? []).every((p) => p.score >= n.min && p.score <= n.max), { path: ['points'], message: 'must lie between min and max' })
  .refine(
    (n) =>
      (n.points ?? []).every((p, i, all) => i === 0 || (p.normalized - (all[i - 1]?.normalized ?? 0)) * (n.direction === 'higher' ? 1 : -1) >= 0),
    { path: ['points'], message: 'must rise with the score for direction higher, and fall for direction lower' },
  )
  .meta({ id: 'Normalization' });
export type Normalization = z.infer<typeof Normalization>;

/**
 * Returns the normalized score, 0 to 10,000, rounded down. A raw score below `min` counts as `min`; a raw score above `max` counts as `max`.
 * `linear`: 10,000 × (score − min) / (max − min).
 * `log`: 10,000 × ln(1 + score − min) / ln(1 + max − min).
 * `piecewise`: interpolates between `points`.
 * For `linear` and `log` with direction `lower`, the formula contains max − score instead of score − min.
 */
export function normalize(n: Normalization, score: number): number {
  const x = Math.min(Math.max(score, n.min), n.max);
  if (n.method === 'piecewise') return piecewise(n.points ?? [], x);
  const fromWorst = n.direction === 'higher' ? x - n.min : n.max - x;
  const range = n.max - n.min;
  if (n.method === 'log') return Math.floor(SCALE * (Math.log1p(fromWorst) / Math.log1p(range)));
  // Integer division, because a floating-point quotient is sometimes slightly below the exact whole number.
  return Number((BigInt(SCALE) * BigInt(fromWorst)) / BigInt(range));
}

function piecewise(points: readonly { score: number; normalized: number }[], x: number): number {
  const first = points[0];
  const last = points.at(-1);
  if (!first || !last) return 0;
  if (x <= first.score) return first.normalized;
  for (let i = 1; i < points.length; i++) {
    const a = points[i - 1];
    const b = points[i];
    if (a && b && x <= b.score) return Math.floor(a.normalized + ((x - a.score) * (b.normalized - a.normalized)) / (b.score - a.score));
  }
  return last.normalized;
}
