import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import busboy from 'busboy';
import type Koa from 'koa';
import type { z } from 'zod';
import { fail, HttpError } from '#lib/errors.ts';
import { explain, refuse } from './validation-errors.ts';

/** How many fields a form may have besides its file, and how large each may be, bytes. */
const MOST_FIELDS = 20;
const MAX_FIELD_BYTES = 4_096;
/** What a form may hold besides its file, bytes. */
export const MAX_FORM_OVERHEAD_BYTES = 64 * 1024;
const MAX_ECHO = 100;

/** How long a body may take, ms: in all, and without anything arriving. */
export interface Pace {
  readonly totalMs: number;
  readonly idleMs: number;
}
const PACE: Pace = { totalMs: 10 * 60_000, idleMs: 60_000 };

/**
 * Reads a form as it arrives: fields of text, and before, between or after them exactly one file. The name and the type that its sender
 * gives to the file are forgotten.
 * @param shape the name of the file's field, and the shape of the others
 * @param receive takes the bytes of the file, as fast as it can; what it throws ends the form
 * @returns the fields of text
 * @throws 400 for what is no such form, is cut off, or comes too slowly; what `receive` throws
 */
export async function readForm<Fields extends z.ZodType>(
  ctx: Koa.Context,
  body: Readable,
  shape: { readonly file: string; readonly fields: Fields },
  receive: (bytes: Readable) => Promise<void>,
  pace: Pace = PACE,
): Promise<z.output<Fields>> {
  const form = openForm(ctx.get('Content-Type'));
  const fields = new Map<string, string>();
  let received: Promise<void> | undefined;
  let file: Readable | undefined;
  let failure: Error | undefined;
  const end = (error: Error) => {
    failure ??= error;
    form.destroy(error);
  };
  const endFor = (field: string | undefined, what: string) => end(fail(400, `${field?.slice(0, MAX_ECHO) ?? 'a field without a name'} ${what}`));
  form.on('field', (field: string | undefined, value, { valueTruncated }) => {
    if (field === undefined) endFor(field, 'is not a known field');
    else if (field === shape.file) endFor(field, 'must be a file');
    else if (fields.has(field)) endFor(field, 'must come once');
    else if (valueTruncated) endFor(field, `must be at most ${MAX_FIELD_BYTES} bytes`);
    else fields.set(field, value);
  });
  form.on('file', (field: string | undefined, bytes) => {
    // Whoever reads it sees the error; what nobody reads must not end the process.
    bytes.on('error', () => undefined);
    if (field !== shape.file) return endFor(field, 'is not a known file');
    if (received) return endFor(field, 'must come once');
    file = bytes;
    received = receive(bytes);
    received.catch(end);
  });
  form.on('partsLimit', () => end(fail(400, 'the form must not have so many fields')));
  const unwatch = watch(body, pace, end);
  try {
    await pipeline(body, form);
  } catch (error) {
    failure ??= error instanceof HttpError ? error : fail(400, 'the body must be a complete form, as its Content-Type says');
    // One that begins after the fault, in the same chunk, nobody else would end: its receiver would wait for ever.
    file?.destroy(failure);
  } finally {
    unwatch();
    // Nothing is taken away from a receiver that is still at work.
    await received?.catch(() => undefined);
  }
  if (failure) throw failure;
  if (!received) throw fail(400, `${shape.file} is required and must be a file`);
  const parsed = shape.fields.safeParse(Object.fromEntries(fields), { error: explain });
  if (!parsed.success) throw refuse('body', parsed.error);
  return parsed.data;
}

function openForm(type: string): busboy.Busboy {
  try {
    const limits = { fieldSize: MAX_FIELD_BYTES, parts: MOST_FIELDS };
    return busboy({ headers: { 'content-type': type }, limits, defParamCharset: 'utf8' });
  } catch {
    throw fail(400, 'Content-Type must be multipart/form-data with a boundary');
  }
}

/** Ends a form that comes too slowly. @returns what ends the watching */
function watch(body: Readable, { totalMs, idleMs }: Pace, end: (error: Error) => void): () => void {
  const tooSlow = () => end(fail(400, `the body must arrive within ${totalMs / 1_000} s, without pauses of ${idleMs / 1_000} s`));
  const total = setTimeout(tooSlow, totalMs);
  const idle = setTimeout(tooSlow, idleMs);
  body.on('data', () => idle.refresh());
  return () => {
    clearTimeout(total);
    clearTimeout(idle);
  };
}
