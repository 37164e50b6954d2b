import { z } from 'zod';
import { XHandle, XId } from '#platform/x/api.ts';
import { explicit, Handle, MentionEntity, nothingTold, TextRange, type Told, When } from './parsed-delivery.ts';

/** All of these tell a post; which of them it is says how X came to tell it, and its post says what it is. */
const POSTS = new Set(['post.create', 'post.mention.create', 'post.reply.create', 'post.quote.create', 'post.repost.create']);

const PlainUser = z.looseObject({ id: XId, username: Handle });
/** In follows it is wrapped. */
const User = z.union([z.looseObject({ data: PlainUser }).transform(({ data }) => data), PlainUser]);

const Event = z.looseObject({
  event_type: z.string(),
  filter: z.looseObject({ user_id: XId }).optional().catch(undefined),
  payload: z.unknown(),
  includes: z
    .looseObject({
      users: z.array(User.nullable().catch(null)).optional().catch(undefined),
      tweets: z
        .array(z.looseObject({ id: XId, author_id: XId }).nullable().catch(null))
        .optional()
        .catch(undefined),
    })
    .optional()
    .catch(undefined),
});
type Event = z.output<typeof Event>;

const Mentions = z.looseObject({ mentions: z.array(MentionEntity) }).transform(({ mentions }) => mentions.filter((mention) => mention !== null));

const Post = z.looseObject({
  id: XId,
  author_id: XId,
  created_at: When,
  edit_history_tweet_ids: z.array(XId).optional().catch(undefined),
  referenced_tweets: z.array(z.looseObject({ type: z.string(), id: XId })).optional(),
  display_text_range: TextRange,
  entities: Mentions.optional().catch(undefined),
  // Of a long post the rest has only its beginning.
  note_tweet: z.looseObject({ entities: Mentions }).optional().catch(undefined),
});

const Followed = z.looseObject({ source: User, target: User });
const Renamed = z.looseObject({
  after: z
    .string()
    .transform((text) => text.replace(/^@/, ''))
    .pipe(XHandle),
});

/**
 * Reads a delivery of the X Activity API: one event.
 * @param receivedAt when an event is, that does not tell (a follow never does); ms since 1970
 */
export function readActivityEvent(data: unknown, receivedAt: number): Told {
  const told = nothingTold();
  const parsed = Event.safeParse(data);
  if (!parsed.success) return { ...told, ignored: ['an unreadable event'] };
  const event = parsed.data;
  const type = event.event_type.slice(0, 64);
  for (const user of event.includes?.users ?? []) if (user) note(told, user, receivedAt);
  if (POSTS.has(type)) readPost(told, event, receivedAt);
  else if (type === 'follow.follow') readFollow(told, event, receivedAt);
  else if (type === 'profile.update.handle') readRename(told, event, receivedAt);
  else told.ignored.push(type);
  return told;
}

function readPost(told: Told, event: Event, receivedAt: number): void {
  const parsed = Post.safeParse(event.payload);
  if (!parsed.success) return void told.ignored.push(`an unreadable ${event.event_type}`);
  const {
    id,
    author_id,
    created_at: at = receivedAt,
    edit_history_tweet_ids,
    referenced_tweets = [],
    display_text_range,
    entities = [],
    note_tweet,
  } = parsed.data;
  const subscribed = event.filter?.user_id ?? null;
  const original = referenced_tweets.find(({ type }) => type === 'retweeted');
  // X tells of reposts of whom it was asked about, and includes the original only where it likes to.
  const originalAuthor =
    event.event_type === 'post.repost.create' ? subscribed : event.includes?.tweets?.find((tweet) => tweet?.id === original?.id)?.author_id;
  const mentions = explicit(note_tweet?.entities ?? entities, display_text_range);
  told.posts.push({
    id: edit_history_tweet_ids?.[0] ?? id,
    author: author_id,
    at,
    repostOf: original ? { id: original.id, author: originalAuthor ?? null } : null,
    mentions: event.event_type === 'post.mention.create' && subscribed !== null ? [subscribed, ...mentions] : mentions,
  });
}

function readFollow(told: Told, event: Event, at: number): void {
  const parsed = Followed.safeParse(event.payload);
  if (!parsed.success) return void told.ignored.push(`an unreadable ${event.event_type}`);
  const { source, target } = parsed.data;
  for (const user of [source, target]) note(told, user, at);
  told.follows.push({ source: source.id, target: target.id, at });
}

function readRename(told: Told, event: Event, at: number): void {
  const parsed = Renamed.safeParse(event.payload);
  const accountId = event.filter?.user_id;
  if (!parsed.success || accountId === undefined) return void told.ignored.push(`an unreadable ${event.event_type}`);
  told.names.push({ accountId, handle: parsed.data.after, at });
}

function note(told: Told, { id, username }: z.output<typeof PlainUser>, at: number): void {
  if (username !== undefined) told.names.push({ accountId: id, handle: username, at });
}
