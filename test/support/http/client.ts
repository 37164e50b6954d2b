import { type Client, createClient } from '#platform/http/client.ts';
import { ADMIN_TOKEN, type TestApp } from '../app.ts';

/** Whatever carries a session: what `signIn` answers. */
export interface SignedIn {
  readonly cookie: string;
}

/** A typed client of a test application, signed in when it is given a session. */
export function clientOf(t: Pick<TestApp, 'url'>, session?: SignedIn): Client {
  return createClient({ baseUrl: t.url, ...(session ? { cookie: session.cookie } : {}) });
}

/** A typed client of a test application with an admin token. */
export function adminOf(t: Pick<TestApp, 'url'>, token = ADMIN_TOKEN): Client {
  return createClient({ baseUrl: t.url, headers: { Authorization: `Bearer ${token}` } });
}
