import { createClient } from '../../client/src/index.ts';

export { type Api, ApiError, ok } from '../../client/src/index.ts';

/** Calls the service that served the page. A short retry policy, because a visitor waits: the page shows an error and a button instead. */
export const client = createClient({ baseUrl: location.origin, retryPolicy: { maxRetries: 2, maxDelayMs: 5_000 } });
