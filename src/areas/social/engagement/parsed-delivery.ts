import { z } from 'zod';
import { XHandle, XId } from '#platform/x/api.ts';

/** A post of somebody. Times are ms since 1970. */
export interface Post {
  /** Of its first version, if it was edited. */
  readonly id: string;
  readonly author: string;
  readonly at: number;
  /** The post that this one only repeats; its author, where that is told. */
  readonly repostOf: { readonly id: string; readonly author: string | null } | null;
  /** Whom its author names in it. Whom a reply names by being one is not among them, as X does not count them either. */
  readonly mentions: readonly string[];
}

export interface Follow {
  readonly source: string;
  readonly target: string;
  readonly at: number;
}

/** What an account was called at a time. */
export interface Named {
  readonly accountId: string;
  readonly handle: string;
  readonly at: number;
}

/** What a delivery tells, whichever API it is of. */
export interface Told {
  readonly posts: Post[];
  readonly follows: Follow[];
  readonly names: Named[];
  /** What it is that nothing is made of. */
  readonly ignored: string[];
}

export const nothingTold = (): Told => ({ posts: [], follows: [], names: [], ignored: [] });

/** How X writes a time, by either API; undefined where it does not tell. */
export const When = z
  .union([z.int(), z.string().max(64)])
  .transform((text) => (/^\d+$/.test(String(text)) ? Number(text) : Date.parse(String(text))))
  .refine((ms) => Number.isFinite(ms))
  .optional();

/** What may be missing or odd without making the rest unreadable. */
export const Handle = XHandle.optional().catch(undefined);

/** Where a text that was written by its author begins: before it a reply names whom it answers. */
const Start = z.int().min(0);
export const TextRange = z.array(Start).min(1).optional().catch(undefined);

export interface Mention {
  readonly id: string;
  readonly start: number;
}
export const explicit = (mentions: readonly Mention[], range: readonly number[] | undefined): string[] =>
  mentions.filter(({ start }) => start >= (range?.[0] ?? 0)).map(({ id }) => id);

/** A mention as either API writes it; null for one that names no account by its number. */
export const MentionEntity = z
  .union([
    z.looseObject({ id: XId, start: Start }).transform(({ id, start }) => ({ id, start })),
    z.looseObject({ id_str: XId, indices: z.array(Start).min(1) }).transform(({ id_str, indices }) => ({ id: id_str, start: indices[0] ?? 0 })),
  ])
  .nullable()
  .catch(null);
