import type { Node } from 'acorn';
import { typed } from './exclusions.ts';
import type { Edit } from './source.ts';

/** Text that occurs in SQL statements and fragments, and not in other texts. */
const SQL =
  /\bselect\b[\s\S]*\bfrom\b|\binsert into\b|\bupdate \w+ (as )?(\w+ )?set\b|\bdelete from\b|\b(order|group) by\b|\bon conflict\b|\bfor (no key )?(update|share)\b/;

/** One token of SQL: a comment, a quoted text, a type cast, a parameter, an operator, a word, a number, a parenthesis or a comma. */
const TOKEN = /--.*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"[^"]*"|::[\w[\]]+|\$\d+|[<>=!|@#&~*/+-]+|[a-z_]\w*(?:\.\w+)?|\d+(?:\.\d+)?|[(),;]/gi;

const WORDS: Readonly<Record<string, string>> = {
  or: 'and',
  desc: 'asc',
  asc: 'desc',
  min: 'max',
  max: 'min',
  least: 'greatest',
  greatest: 'least',
  sum: 'max',
  bool_or: 'bool_and',
  bool_and: 'bool_or',
  true: 'false',
  false: 'true',
  distinct: '',
};

const OPERATORS: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>', '<>': '=', '+': '-', '-': '+' };

/** Clauses that a mutant removes. */
const REMOVED = [/\bfor (?:no key )?(?:update|share)(?: of \w+)?(?: skip locked| nowait)?/g, /\bon conflict(?: \([^)]*\))? do nothing/g];

/** Words that end the list of an `order by`. */
const ENDS_ORDER = new Set(['limit', 'offset', 'for', 'returning', 'on', 'rows', 'range', 'union']);

interface Token {
  readonly text: string;
  readonly at: number;
}

/** Returns the mutants of the SQL in a template literal or text. Some are invalid SQL; a run tells them apart. */
export function mutateSql(given: Node, code: string): Edit[] {
  const node = typed(given);
  if (node.type === 'TemplateLiteral') {
    if (!SQL.test(code.slice(node.start, node.end))) return [];
    return node.quasis.flatMap(({ start, end, tail }) => mutateText(code.slice(start, end), start, tail));
  }
  if (node.type !== 'Literal' || typeof node.value !== 'string' || !SQL.test(node.value)) return [];
  return mutateText(code.slice(node.start + 1, node.end - 1), node.start + 1, true);
}

/** @param isTail whether no expression of the template follows the text */
function mutateText(text: string, offset: number, isTail: boolean): Edit[] {
  const tokens: Token[] = [...text.matchAll(TOKEN)].map((match) => ({ text: match[0], at: match.index }));
  const inComment = (at: number) => tokens.some((token) => /^(--|\/\*)/.test(token.text) && token.at <= at && at < token.at + token.text.length);
  const removed = REMOVED.flatMap((clause) => [...text.matchAll(clause)])
    .filter(({ index }) => !inComment(index))
    .map(({ 0: clause, index }) => ({ start: index, end: index + clause.length, replacement: '' }));
  const edits = tokens.flatMap((token, i) => [
    ...mutateToken(tokens, i).map((replacement) => ({ start: token.at, end: token.at + token.text.length, replacement })),
    ...removeOrder(tokens, i, isTail ? text.length : null),
  ]);
  return [...removed, ...edits].map(({ start, end, replacement }) => ({ start: start + offset, end: end + offset, replacement }));
}

/** Returns the replacements of one token. */
function mutateToken(tokens: readonly Token[], i: number): string[] {
  const { text } = tokens[i] ?? { text: '' };
  const before = tokens[i - 1]?.text ?? '';
  const after = tokens[i + 1]?.text ?? '';
  if (text === 'and') return isOfBetween(tokens, i) ? [] : ['or'];
  if (text === 'not') return after === 'materialized' ? [] : [''];
  if (text === 'limit' || text === 'offset') return [];
  if (text === 'left' && after === 'join') return [''];
  if (/^\d+$/.test(text)) return mutateNumber(Number(text), before);
  if (['min', 'max', 'sum', 'least', 'greatest', 'bool_or', 'bool_and'].includes(text) && after !== '(') return [];
  const other = WORDS[text] ?? OPERATORS[text];
  return other === undefined ? [] : [other];
}

/**
 * Returns the neighbours of a number. `limit 1` becomes only `limit 0`, because its callers read only the first row. The number after `select` is the
 * result of an `exists`, which no one reads.
 */
function mutateNumber(n: number, before: string): string[] {
  if (before === 'select' || before === 'offset') return [];
  if (before === 'limit' && n === 1) return ['0'];
  return [n - 1, n + 1].filter((other) => other >= 0).map(String);
}

/** Returns whether an `and` belongs to `between … and …`. */
function isOfBetween(tokens: readonly Token[], i: number): boolean {
  const words = tokens.slice(0, i).filter(({ text }) => /^(between|and|or|where|on)$/.test(text));
  return words.at(-1)?.text === 'between';
}

/**
 * Returns the edit that removes an `order by`, when its end is in the same text.
 * @param textEnd the end of the text; null when an expression of the template follows, because the list could continue there
 */
function removeOrder(tokens: readonly Token[], i: number, textEnd: number | null): Edit[] {
  const order = tokens[i];
  if (order?.text !== 'order' || tokens[i + 1]?.text !== 'by') return [];
  let depth = 0;
  for (const { text, at } of tokens.slice(i + 2)) {
    if (text === '(') depth++;
    if (depth === 0 && (text === ')' || text === ';' || ENDS_ORDER.has(text))) return [{ start: order.at, end: at, replacement: '' }];
    if (text === ')') depth--;
  }
  return textEnd === null ? [] : [{ start: order.at, end: textEnd, replacement: '' }];
}
