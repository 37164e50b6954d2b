import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { type Program, parse } from 'acorn';

/** A replacement of one part of a source file. Offsets are relative to the start of the file. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

/** The folder of the checkout. */
export const CHECKOUT = join(import.meta.dirname, '../..');

/** A source file. Offsets in `code` equal offsets in the file, because types are replaced by spaces. */
export interface Source {
  /** Path relative to the checkout. */
  readonly path: string;
  /** The text without types. */
  readonly code: string;
  readonly program: Program;
}

export function readSource(path: string): Source {
  return parseSource(path, readFileSync(join(CHECKOUT, path), 'utf8'));
}

/** @throws Error when the removal of types changes offsets, SyntaxError when the text cannot be parsed */
export function parseSource(path: string, text: string): Source {
  const code = stripTypeScriptTypes(text);
  if (code.length !== text.length) throw new Error(`${path}: the text without types has another length, so offsets would differ`);
  return { path, code, program: parseModule(code) };
}

function parseModule(code: string): Program {
  return parse(code, { ecmaVersion: 'latest', sourceType: 'module' });
}

/** Returns whether a module with this text can be parsed. */
export function isParsable(code: string): boolean {
  try {
    parseModule(code);
    return true;
  } catch {
    return false;
  }
}

/** Returns the number of the line at an offset; the first line is 1. */
export function lineAt(code: string, offset: number): number {
  return code.slice(0, offset).split('\n').length;
}
