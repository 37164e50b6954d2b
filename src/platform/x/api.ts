import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type HttpError, unavailable } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { ask } from './request.ts';

/** What names an account or a post for ever. */
export const XId = z.string().regex(/^\d{1,20}$/);
/** What people call an account by, without the `@`. */
export const XHandle = z.string().regex(/^\w{1,32}$/);

/** An account of X as X tells it. */
export interface XAccount {
  readonly accountId: string;
  readonly handle: string;
}

/** A post that everybody can see. */
export interface XPost {
  readonly author: XAccount;
  /** All of it, also where it is a long one. */
  readonly text: string;
  /** Whether its author only repeats what somebody else has written. */
  readonly isRepost: boolean;
}

/** What our app may do for who signs in: reading who that is needs both. */
const SCOPES = 'tweet.read users.read';

type Client = NonNullable<App['config']['x']['client']>;

const User = z.looseObject({ id: XId, username: XHandle });
const Token = z.looseObject({ access_token: z.string().regex(/^[\x21-\x7e]{1,4096}$/) });
const Me = z.looseObject({ data: User });
const Post = z.looseObject({
  data: z.looseObject({
    author_id: XId,
    text: z.string(),
    note_tweet: z.looseObject({ text: z.string() }).optional(),
    referenced_tweets: z.array(z.looseObject({ type: z.string() })).optional(),
  }),
  includes: z.looseObject({ users: z.array(User) }),
});

/** An answer that is not what X says that it answers. */
const notUnderstood = (): HttpError => unavailable('X answered with something else than was asked for, try again later', 60);

/** Where somebody signs in to X, to come back with `state` and a code that only the holder of `verifier` can use (PKCE, RFC 7636). */
export function authorizationUrl(app: App, client: Client, { state, verifier }: { state: string; verifier: string }): string {
  const url = new URL(app.config.x.authorizeUrl);
  const parameters = {
    response_type: 'code',
    client_id: client.id,
    redirect_uri: client.redirectUrl,
    scope: SCOPES,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  };
  // Spaces as %20: X does not read them as +.
  url.search = Object.entries(parameters)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&');
  return url.href;
}

/** Where somebody writes a post, with its text filled in. */
export function composerUrl(app: App, text: string): string {
  return new URL(`/intent/tweet?text=${encodeURIComponent(text)}`, app.config.x.authorizeUrl).href;
}

/** A confidential client proves itself; a public one only says who it is. */
const asClient = ({ id, secret }: Client, form: Record<string, string>) =>
  secret === null ? { form: { ...form, client_id: id } } : { form, authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` };

/**
 * What a code is worth: a token of who has signed in. null where X refuses the code: unknown, used, too old, or of another verifier.
 * @throws 503 when X does not answer
 */
export async function exchangeCode(app: App, client: Client, { code, verifier }: { code: string; verifier: string }): Promise<string | null> {
  const form = { grant_type: 'authorization_code', code, redirect_uri: client.redirectUrl, code_verifier: verifier };
  const { status, body } = await ask(app, { path: '/2/oauth2/token', ...asClient(client, form), answers: [400] });
  if (status === 400) return null;
  const token = Token.safeParse(body);
  if (!token.success) throw notUnderstood();
  return token.data.access_token;
}

/** Whose a token is. @throws 503 when X does not answer */
export async function whoseToken(app: App, token: string): Promise<XAccount> {
  const { body } = await ask(app, { path: '/2/users/me', authorization: `Bearer ${token}` });
  const me = Me.safeParse(body);
  if (!me.success) throw notUnderstood();
  return { accountId: me.data.data.id, handle: me.data.data.username };
}

/** Has X forget a token. Where that fails, it ends by itself within two hours, and nobody has it. */
export async function dropToken(app: App, client: Client, token: string): Promise<void> {
  await ask(app, { path: '/2/oauth2/revoke', ...asClient(client, { token }) }).catch(() => undefined);
}

/**
 * Reads a post; null where everybody cannot see it.
 * @param id digits
 * @throws 503 when X does not answer
 */
export async function readPost(app: App, bearerToken: string, id: string): Promise<XPost | null> {
  const fields = 'tweet.fields=author_id,note_tweet,referenced_tweets&expansions=author_id&user.fields=username';
  const { status, body } = await ask(app, {
    path: `/2/tweets/${XId.parse(id)}?${fields}`,
    authorization: `Bearer ${bearerToken}`,
    answers: [400, 404],
  });
  // A post that is gone or protected is a 200 that holds errors and no post.
  if (status !== 200 || z.looseObject({ data: z.undefined().optional(), errors: z.array(z.unknown()) }).safeParse(body).success) return null;
  const parsed = Post.safeParse(body);
  const author = parsed.data?.includes.users.find((user) => user.id === parsed.data.data.author_id);
  if (!parsed.success || !author) throw notUnderstood();
  const { text, note_tweet, referenced_tweets = [] } = parsed.data.data;
  return {
    author: { accountId: author.id, handle: author.username },
    text: note_tweet?.text ?? text,
    isRepost: referenced_tweets.some(({ type }) => type === 'retweeted'),
  };
}
