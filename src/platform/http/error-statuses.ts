import { z } from 'zod';

/** The body of every refusal. */
export const ErrorBody = z
  .strictObject({ error: z.string().meta({ description: 'One sentence that names the field and what it must be.' }) })
  .meta({ id: 'Error', example: { error: 'no such resource' } });

/** What a refusal is called in the document, what it means, and one sentence as an example. */
interface RefusalKind {
  readonly id: string;
  readonly meaning: string;
  readonly example: string;
}

/** Every status that the service refuses with. All have one shape, `{ error }`. */
export const REFUSALS = {
  400: { id: 'BadRequest', meaning: 'Missing or invalid parameters.', example: 'limit must be at most 500' },
  401: { id: 'Unauthorized', meaning: 'Missing or invalid session, password or signature.', example: 'a session is required, sign in first' },
  403: {
    id: 'Forbidden',
    meaning: 'Insufficient permissions, or a foreign origin.',
    example: 'Origin must be that of this service or an allowed one',
  },
  404: { id: 'NotFound', meaning: 'The resource does not exist.', example: 'no such resource' },
  405: { id: 'MethodNotAllowed', meaning: 'The path knows other methods only.', example: 'the method must be GET' },
  409: {
    id: 'Conflict',
    meaning: 'A duplicate action, or one that the present state does not allow.',
    example: 'Idempotency-Key was used before with another body',
  },
  412: { id: 'PreconditionFailed', meaning: 'If-Match names an older version.', example: 'If-Match must be the present ETag' },
  413: { id: 'TooLarge', meaning: 'The body is too large.', example: 'the body must be at most 262144 bytes' },
  415: { id: 'UnsupportedMediaType', meaning: 'The content type or encoding is not supported.', example: 'Content-Type must be application/json' },
  416: { id: 'RangeNotSatisfiable', meaning: 'The range lies outside the content.', example: 'Range must lie within the content' },
  429: { id: 'TooManyRequests', meaning: 'Too many requests; Retry-After says when to come back.', example: 'too many requests, try again later' },
  500: { id: 'InternalError', meaning: 'Internal server error.', example: 'internal server error' },
  503: {
    id: 'Unavailable',
    meaning: 'A dependency is down; Retry-After says when to come back.',
    example: 'a dependency of the service is not available, try again',
  },
} as const satisfies Record<number, RefusalKind>;

export type RefusalStatus = keyof typeof REFUSALS;
