import { z } from 'zod';
import { XId } from '#platform/x/api.ts';
import { explicit, Handle, MentionEntity, nothingTold, TextRange, type Told, When } from './parsed-delivery.ts';

/** In posts `id` is a number that has lost its last digits, and `id_str` is right; in follows `id` is text. */
const User = z.union([
  z.looseObject({ id_str: XId, screen_name: Handle }).transform(({ id_str, screen_name }) => ({ id: id_str, handle: screen_name })),
  z
    .looseObject({ id: z.union([XId, z.int().positive().transform(String)]), screen_name: Handle })
    .transform(({ id, screen_name }) => ({ id, handle: screen_name })),
]);

const Mentions = z
  .looseObject({ user_mentions: z.array(MentionEntity) })
  .transform(({ user_mentions }) => user_mentions.filter((mention) => mention !== null));

const Tweet = z.looseObject({
  id_str: XId,
  created_at: When,
  user: User,
  display_text_range: TextRange,
  entities: Mentions.optional().catch(undefined),
  // Of a long post the rest has only its beginning.
  extended_tweet: z.looseObject({ display_text_range: TextRange, entities: Mentions }).optional().catch(undefined),
  edit_history: z.looseObject({ initial_tweet_id: XId }).optional().catch(undefined),
  retweeted_status: z.looseObject({ id_str: XId, user: User }).nullish(),
});

const Followed = z.looseObject({ type: z.string(), created_timestamp: When, source: User, target: User });

/**
 * Reads a delivery of the Account Activity API: lists of events by their kind, each of which is read by itself.
 * @param receivedAt when an event is, that does not tell; ms since 1970
 */
export function readAccountActivity(body: Readonly<Record<string, unknown>>, receivedAt: number): Told {
  const told = nothingTold();
  for (const [kind, events] of Object.entries(body)) {
    if (kind === 'for_user_id' || kind === 'user_has_blocked') continue;
    if (kind !== 'tweet_create_events' && kind !== 'follow_events') told.ignored.push(kind.slice(0, 64));
    else if (!Array.isArray(events)) told.ignored.push(`unreadable ${kind}`);
    else for (const event of events) (kind === 'follow_events' ? readFollow : readPost)(told, event, receivedAt);
  }
  return told;
}

function readPost(told: Told, event: unknown, receivedAt: number): void {
  const parsed = Tweet.safeParse(event);
  if (!parsed.success) return void told.ignored.push('an unreadable post');
  const {
    id_str,
    created_at: at = receivedAt,
    user,
    display_text_range,
    entities = [],
    extended_tweet,
    edit_history,
    retweeted_status,
  } = parsed.data;
  const whole = extended_tweet ?? { entities, display_text_range };
  note(told, user, at);
  told.posts.push({
    id: edit_history?.initial_tweet_id ?? id_str,
    author: user.id,
    at,
    repostOf: retweeted_status ? { id: retweeted_status.id_str, author: retweeted_status.user.id } : null,
    mentions: explicit(whole.entities, whole.display_text_range),
  });
}

function readFollow(told: Told, event: unknown, receivedAt: number): void {
  const parsed = Followed.safeParse(event);
  if (!parsed.success) return void told.ignored.push('an unreadable follow');
  const { type, created_timestamp: at = receivedAt, source, target } = parsed.data;
  for (const user of [source, target]) note(told, user, at);
  // They are in the same list.
  if (type === 'follow') told.follows.push({ source: source.id, target: target.id, at });
  else told.ignored.push(type.slice(0, 64));
}

function note(told: Told, { id, handle }: z.output<typeof User>, at: number): void {
  if (handle !== undefined) told.names.push({ accountId: id, handle, at });
}
