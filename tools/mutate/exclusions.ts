import type { AnyNode, Node } from 'acorn';

/** Methods of zod schemas whose arguments are texts and examples for the OpenAPI document. */
const DOCUMENTATION = new Set(['meta', 'describe']);

/** acorn-walk declares nodes with the general type `Node`; each of them is one of the types in `AnyNode`. */
export const typed = (node: Node): AnyNode => node as AnyNode;

/** Returns whether a node is a function or method. */
export function isFunction(node: AnyNode): boolean {
  return node.type === 'FunctionDeclaration' || node.type === 'FunctionExpression' || node.type === 'ArrowFunctionExpression';
}

/**
 * Returns whether a node has no mutants because of one of its ancestors:
 * - imports, log messages, and the construction of errors
 * - texts of the OpenAPI document, and the statuses that a route lists there (`fails`)
 * - constants in milliseconds, because a test cannot measure a difference of 1 ms
 * - checks of the form `if (!row) throw new Error(…)`, which state that a case cannot occur
 * @param ancestors the nodes that contain the node, outermost first, and the node itself
 */
export function isExcluded(ancestors: readonly Node[], code: string): boolean {
  return ancestors.some((ancestor, i) => {
    const node = typed(ancestor);
    if (node.type === 'ImportDeclaration' || node.type === 'ExportAllDeclaration') return true;
    if (node.type === 'Property') return node.key.type === 'Identifier' && node.key.name === 'fails';
    if (node.type === 'VariableDeclarator') return node.id.type === 'Identifier' && /_MS$/.test(node.id.name);
    if (node.type === 'NewExpression') return node.callee.type === 'Identifier' && node.callee.name.endsWith('Error');
    if (node.type === 'IfStatement') {
      const { test, consequent } = node;
      const isNegation = test.type === 'UnaryExpression' && test.operator === '!';
      return isNegation && consequent.type === 'ThrowStatement' && code.startsWith('new Error(', consequent.argument.start);
    }
    if (isLogCall(node, code) || (node.type === 'ExpressionStatement' && isLogCall(node.expression, code))) return true;
    if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return false;
    const { property } = node.callee;
    const isInArguments = (ancestors[i + 1]?.start ?? 0) >= node.callee.end;
    return isInArguments && property.type === 'Identifier' && DOCUMENTATION.has(property.name);
  });
}

function isLogCall(node: AnyNode, code: string): boolean {
  if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return false;
  return /\blog(ger)?$/.test(code.slice(node.callee.object.start, node.callee.object.end));
}

/** Returns the name of the module's constant whose initializer contains a node; null when the node is inside a function. */
export function findOwner(ancestors: readonly Node[]): string | null {
  const nodes = ancestors.map(typed);
  if (nodes.some(isFunction)) return null;
  const declarator = nodes.find((node) => node.type === 'VariableDeclarator');
  return declarator?.type === 'VariableDeclarator' && declarator.id.type === 'Identifier' ? declarator.id.name : null;
}
