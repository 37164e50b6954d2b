import { z } from 'zod';
import { XHandle, XId } from '#platform/x/api.ts';

/** A post. Times are ms since 1970. */
interface ParsedPost {
  /** Id of the first version of the post. An edit does not change it. */
  readonly id: string;
  readonly author: string;
  readonly at: number;
  /** The original post, if this post is a repost. `author` is null when X does not send the author of the original post. */
  readonly repostOf: { readonly id: string; readonly author: string | null } | null;
  /** Ids of the accounts that the author mentions in the text. Excludes the mentions that X adds at the beginning of a reply. */
  readonly mentions: readonly string[];
}

/** An event: the account `source` followed or unfollowed the account `target`. */
interface ParsedFollow {
  readonly source: string;
  readonly target: string;
  /** False when `source` unfollowed `target`. */
  readonly following: boolean;
  readonly at: number;
}

/** The handle that an account had at a time. */
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

/** A time in the format of the X Activity API or the Account Activity API, converted to ms since 1970; undefined when the field is absent. */
export const XTime = z
  .union([z.int(), z.string().max(64)])
  .transform((text) => (/^\d+$/.test(String(text)) ? Number(text) : Date.parse(String(text))))
  .refine((ms) => Number.isFinite(ms))
  .optional();

/** An optional handle. An invalid handle is treated as absent, so that the rest of the event can be parsed. */
export const Handle = XHandle.optional().catch(undefined);

const TextOffset = z.int().min(0);
/** The range of the text that the author wrote. In a reply, the mentions that X adds are before this range. */
export const TextRange = z.array(TextOffset).min(1).optional().catch(undefined);

interface ParsedMention {
  readonly id: string;
  readonly start: number;
}
/** Returns the ids of the accounts that are mentioned in the text that the author wrote. */
export const explicitMentions = (mentions: readonly ParsedMention[], range: readonly number[] | undefined): string[] =>
  mentions.filter(({ start }) => start >= (range?.[0] ?? 0)).map(({ id }) => id);

/** A mention in the format of the X Activity API or the Account Activity API; null when it contains no account id. */
export const MentionEntity = z
  .union([
    z.looseObject({ id: XId, start: TextOffset }).transform(({ id, start }) => ({ id, start })),
    z.looseObject({ id_str: XId, indices: z.array(TextOffset).min(1) }).transform(({ id_str, indices }) => ({ id: id_str, start: indices[0] ?? 0 })),
  ])
  .nullable()
  .catch(null);
