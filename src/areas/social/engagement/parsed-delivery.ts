import { z } from 'zod';
import { XHandle, XId } from '#platform/x/api.ts';

/** A post. Times are ms since 1970. */
interface ParsedPost {
  /** Id of the first version, also for an edited post. */
  readonly id: string;
  readonly author: string;
  readonly at: number;
  /** The original post, if this is a repost. Its author is null when X does not send it. */
  readonly repostOf: { readonly id: string; readonly author: string | null } | null;
  /** Ids of the accounts that the text mentions. Excludes the accounts that a reply addresses implicitly, as X does. */
  readonly mentions: readonly string[];
}

/** `source` followed `target`. */
interface ParsedFollow {
  readonly source: string;
  readonly target: string;
  readonly at: number;
}

/** The handle of an account at a time. */
export interface ObservedHandle {
  readonly accountId: string;
  readonly handle: string;
  readonly at: number;
}

/** The events of a delivery, in one format for both X APIs. */
export interface ParsedDelivery {
  readonly posts: ParsedPost[];
  readonly follows: ParsedFollow[];
  readonly handles: ObservedHandle[];
  /** Descriptions of ignored events, for the verdict. */
  readonly ignored: string[];
}

export const emptyDelivery = (): ParsedDelivery => ({ posts: [], follows: [], handles: [], ignored: [] });

/** A time in the format of either API; undefined when absent. */
export const XTime = z
  .union([z.int(), z.string().max(64)])
  .transform((text) => (/^\d+$/.test(String(text)) ? Number(text) : Date.parse(String(text))))
  .refine((ms) => Number.isFinite(ms))
  .optional();

/** An optional handle. An invalid one is ignored, so that the rest can be read. */
export const Handle = XHandle.optional().catch(undefined);

const TextOffset = z.int().min(0);
/** The range of the text that the author wrote. A reply begins with implicit mentions before it. */
export const TextRange = z.array(TextOffset).min(1).optional().catch(undefined);

interface ParsedMention {
  readonly id: string;
  readonly start: number;
}
/** Returns the ids of the accounts that are mentioned within the range. */
export const explicitMentions = (mentions: readonly ParsedMention[], range: readonly number[] | undefined): string[] =>
  mentions.filter(({ start }) => start >= (range?.[0] ?? 0)).map(({ id }) => id);

/** A mention in the format of either API; null without an account id. */
export const MentionEntity = z
  .union([
    z.looseObject({ id: XId, start: TextOffset }).transform(({ id, start }) => ({ id, start })),
    z.looseObject({ id_str: XId, indices: z.array(TextOffset).min(1) }).transform(({ id_str, indices }) => ({ id: id_str, start: indices[0] ?? 0 })),
  ])
  .nullable()
  .catch(null);
