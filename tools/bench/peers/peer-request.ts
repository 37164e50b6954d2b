import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Returns the bytes of the next request to a peer. */
export type NextRequest = () => Buffer;

/**
 * Reads the request that a peer is measured with: a text file with a line such as `POST /leaderboards/arcade`, header lines, an empty line, and the body.
 * In each request, `{score}` becomes a random integer below 1,000,000, and `{user}` becomes the next line of the file of users.
 * @param file path of the request
 * @param users path of a file with one line per user, for example a token; its lines are used in turn
 * @throws Error when the file does not begin with a method and a path, or when it names `{user}` and there are no users
 */
export function readPeerRequest(file: string, users: string | undefined, host: string): NextRequest {
  const [head = '', ...rest] = readFileSync(file, 'utf8')
    .trim()
    .split(/\r?\n\r?\n/);
  const [first = '', ...headers] = head.split(/\r?\n/);
  const [, method, path] = /^([A-Z]+) (\/\S*)(?: HTTP\/1\.1)?$/.exec(first) ?? [];
  if (!method || !path) throw new Error(`${file} must begin with a line such as: POST /leaderboards/arcade`);
  const names = users === undefined ? [] : readFileSync(users, 'utf8').trim().split(/\r?\n/);
  const template = [[`${method} ${path} HTTP/1.1`, `Host: ${host}`, ...headers].join('\r\n'), rest.join('\r\n\r\n')] as const;
  if (names.length === 0 && template.some((part) => part.includes('{user}')))
    throw new Error(`${file} names {user}, so PEER_USERS must name a file of users`);
  let sent = 0;
  return () => {
    const user = names[sent++ % names.length] ?? '';
    const [start, body] = template.map((part) => part.replaceAll('{user}', () => user).replaceAll('{score}', () => String(randomInt(1_000_000))));
    return Buffer.from(`${start}${body ? `\r\nContent-Length: ${Buffer.byteLength(body)}` : ''}\r\n\r\n${body}`);
  };
}
