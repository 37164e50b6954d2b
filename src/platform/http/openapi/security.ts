import type { Config } from '#config';
import { STANDARD_SIGNATURE, X_SIGNATURE } from '#platform/webhooks/signature.ts';
import type { Auth } from '../route.ts';

type Requirement = Record<string, string[]>;

/** Returns the security schemes of the OpenAPI document. */
export function securitySchemes(config: Config) {
  const name = config.publicUrl.protocol === 'https:' ? '__Host-coinop.sid' : 'coinop.sid';
  return {
    session: { type: 'apiKey', in: 'cookie', name, description: 'Set by POST /auth/verify.' },
    sessionToken: {
      type: 'http',
      scheme: 'bearer',
      description: 'The `token` of POST /auth/verify with `transport: "bearer"`. It counts only for requests with the Origin that requested it.',
    },
    admin: { type: 'http', scheme: 'bearer', description: 'An admin token. A route may require a scope, which is listed with the route.' },
    internal: { type: 'http', scheme: 'bearer', description: 'An internal token, or an admin token with the scope money.' },
    basic: { type: 'http', scheme: 'basic', description: 'Any user name, and an admin token as the password.' },
    webhook: {
      type: 'apiKey',
      in: 'header',
      name: STANDARD_SIGNATURE,
      description: 'Signature of the id, the timestamp and the raw body, as defined by Standard Webhooks.',
    },
    webhookX: { type: 'apiKey', in: 'header', name: X_SIGNATURE, description: '`sha256=` followed by the base64 HMAC-SHA256 of the raw body.' },
  } as const;
}

/** Returns the security requirements of a route. A request must meet one of them; a public route has none. */
export function securityOf(auth: Auth): Requirement[] {
  if (auth === 'public') return [];
  if (auth === 'optional') return [{}, { session: [] }, { sessionToken: [] }];
  if (auth === 'session') return [{ session: [] }, { sessionToken: [] }];
  if (auth === 'internal') return [{ internal: [] }];
  if (auth === 'basic') return [{ basic: [] }];
  if ('admin' in auth) return [{ admin: [auth.admin] }];
  if ('sessionOrAdmin' in auth) return [{ session: [] }, { sessionToken: [] }, { admin: [auth.sessionOrAdmin] }];
  return [auth.webhook === 'x' ? { webhookX: [] } : { webhook: [] }];
}
