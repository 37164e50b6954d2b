/** How patient one is with mirrors, ms. */
export interface MirrorTimeouts {
  /** How long one mirror may take. */
  readonly withinMs: number;
  /** After how long the next one is asked too. */
  readonly nextAfterMs: number;
}

/** What a mirror said that was of no use, for logs: its host, and why. */
export interface MirrorFault {
  readonly mirror: string;
  readonly fault: string;
}

/** What was wanted, or null where no mirror had it; and what the others said. */
export interface Asked<Answer> {
  readonly answer: Answer | null;
  readonly faults: readonly MirrorFault[];
}

/** A round takes 300 bytes, a chain's description 600. */
const MOST_BYTES = 4_096;

/**
 * Asks mirrors in their order until one gives an answer that holds: the next one as soon as one fails, or has not answered for a while,
 * while the slow ones go on. The first good answer ends it. Ends within `withinMs` after the last one was asked.
 * @param path of what is wanted, below the mirror's address
 * @param read takes the answer apart and judges it; throws when it is of no use
 */
export function askMirrors<Answer>(
  mirrors: readonly string[],
  path: string,
  { withinMs, nextAfterMs }: MirrorTimeouts,
  read: (body: unknown) => Answer,
): Promise<Asked<Answer>> {
  const stop = new AbortController();
  return new Promise((resolve) => {
    const faults: MirrorFault[] = [];
    let [next, asking] = [0, 0];
    let timer: NodeJS.Timeout | undefined;
    const end = (answer: Answer | null) => {
      clearTimeout(timer);
      resolve({ answer, faults: [...faults] });
      stop.abort();
    };
    const askNext = () => {
      clearTimeout(timer);
      const mirror = mirrors[next++];
      if (mirror === undefined) {
        if (asking === 0) end(null);
        return;
      }
      asking++;
      timer = setTimeout(askNext, nextAfterMs);
      askOne(`${mirror}/${path}`, AbortSignal.any([stop.signal, AbortSignal.timeout(withinMs)]))
        .then((body) => (stop.signal.aborted ? null : { answer: read(body) }))
        .then(
          (good) => good && end(good.answer),
          (error: unknown) => {
            if (stop.signal.aborted) return;
            faults.push({ mirror: new URL(mirror).host, fault: faultOf(error) });
            asking--;
            askNext();
          },
        );
    };
    askNext();
  });
}

/** One mirror's answer as JSON. */
async function askOne(url: string, signal: AbortSignal): Promise<unknown> {
  // A mirror is asked because it was configured: it may not send us elsewhere.
  const response = await fetch(url, { headers: { Accept: 'application/json' }, redirect: 'manual', signal });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`answered ${response.status}`);
  }
  const text = await readText(response);
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('answered with what is no JSON');
  }
}

/** @throws when it is longer than any answer; the rest is not read */
async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MOST_BYTES) throw new Error(`answered with more than ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function faultOf(error: unknown): string {
  const { message, cause } = asFields(error);
  const reason = asFields(cause);
  return [message, reason.code ?? reason.message].filter((part) => typeof part === 'string' && part !== '').join(': ') || String(error);
}

/** Errors may come from another realm, so they are known by what they have. */
function asFields(error: unknown): { message?: unknown; cause?: unknown; code?: unknown } {
  return typeof error === 'object' && error !== null ? error : {};
}
