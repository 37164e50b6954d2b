/** Timeouts of a query to the mirrors, ms. */
export interface MirrorTimeouts {
  /** Timeout of one mirror. */
  readonly timeoutMs: number;
  /** Time after which the next mirror is queried too while the previous one has not answered (hedged request). */
  readonly hedgeAfterMs: number;
}

/** An error of a mirror, for logs. `mirror` is the host name of the mirror. */
export interface MirrorFault {
  readonly mirror: string;
  readonly fault: string;
}

/**
 * The result of a query. `answer` is the first valid answer, or null when no mirror gave a valid answer. `faults` lists the errors of the mirrors
 * that failed.
 */
interface MirrorResult<Answer> {
  readonly answer: Answer | null;
  readonly faults: readonly MirrorFault[];
}

/** Maximum bytes of a response. A response with a round has 300 bytes, a chain description 600. */
const MAX_BYTES = 4_096;

/**
 * Queries mirrors in the given order. The next mirror is queried when a mirror fails, or after `hedgeAfterMs`; requests in flight continue. Resolves
 * with the first valid answer, at the latest `timeoutMs` after the last mirror was queried.
 * @param path the text to append to the URL of a mirror
 * @param read parses and verifies a response; throws when the response is not valid
 */
export function queryMirrors<Answer>(
  mirrors: readonly string[],
  path: string,
  { timeoutMs, hedgeAfterMs }: MirrorTimeouts,
  read: (body: unknown) => Answer,
): Promise<MirrorResult<Answer>> {
  const stop = new AbortController();
  return new Promise((resolve) => {
    const faults: MirrorFault[] = [];
    let [next, inFlight] = [0, 0];
    let timer: NodeJS.Timeout | undefined;
    const end = (answer: Answer | null) => {
      clearTimeout(timer);
      resolve({ answer, faults: [...faults] });
      stop.abort();
    };
    const queryNext = () => {
      clearTimeout(timer);
      const mirror = mirrors[next++];
      if (mirror === undefined) {
        if (inFlight === 0) end(null);
        return;
      }
      inFlight++;
      timer = setTimeout(queryNext, hedgeAfterMs);
      queryOne(`${mirror}/${path}`, AbortSignal.any([stop.signal, AbortSignal.timeout(timeoutMs)]))
        .then((body) => (stop.signal.aborted ? null : { answer: read(body) }))
        .then(
          (good) => good && end(good.answer),
          (error: unknown) => {
            if (stop.signal.aborted) return;
            faults.push({ mirror: new URL(mirror).host, fault: faultOf(error) });
            inFlight--;
            queryNext();
          },
        );
    };
    queryNext();
  });
}

/** Returns the JSON response of one mirror. */
async function queryOne(url: string, signal: AbortSignal): Promise<unknown> {
  // Does not follow redirects, so that only configured hosts are queried.
  const response = await fetch(url, { headers: { Accept: 'application/json' }, redirect: 'manual', signal });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`the response has status ${response.status}`);
  }
  const text = await readText(response);
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('the response is not JSON');
  }
}

/**
 * Reads a response body.
 * @throws when the body exceeds `MAX_BYTES`; the rest of the body is not read
 */
async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new Error(`the response exceeds ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function faultOf(error: unknown): string {
  const { message, cause } = asFields(error);
  const reason = asFields(cause);
  return [message, reason.code ?? reason.message].filter((part) => typeof part === 'string' && part !== '').join(': ') || String(error);
}

/** Reads the fields of an error without `instanceof`, because `instanceof` is false for errors of another realm (such as Jest's). */
function asFields(error: unknown): { message?: unknown; cause?: unknown; code?: unknown } {
  return typeof error === 'object' && error !== null ? error : {};
}
