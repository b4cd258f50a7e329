/**
 * A rule of `deno lint`: what people read stands in a catalog (texts.ts), because there is a German one.
 *
 * It finds words in JSX, and in the attributes and members that people see or hear: as a text, as a template, or put together of such.
 * Not meant are what stands within `<code>`, `<kbd>` and `<pre>`, and names such as `curl` and `POST`.
 */

const read = new Set([
  "action",
  "aria-description",
  "aria-label",
  "body",
  "description",
  "doneText",
  "hint",
  "info",
  "label",
  "placeholder",
  "title",
]);
const word = /\p{L}{2,}/u;
/** A text that is more than a name such as `curl` or `POST`: it begins with a capital, or has several words. */
const prose = /^\p{Lu}\p{Ll}|\p{L}[ -]\p{L}/u;
const names = new Set(["JavaScript"]);
const message = "Words that people read belong into texts.ts, and into its German catalog.";

const plugin: Deno.lint.Plugin = {
  name: "headwater",
  rules: {
    "fixed-text": {
      create(context) {
        const report = (node: Deno.lint.Node) => context.report({ node, message });
        const isProse = (text: string) => prose.test(text) && !names.has(text);
        const isPartOfText = (text: string) => isProse(text) || /\p{L} $|^ \p{L}/u.test(text);
        const isOfCode = (node: Deno.lint.Node | null | undefined): boolean => {
          for (let parent = node; parent; parent = "parent" in parent ? parent.parent as Deno.lint.Node : null) {
            if (parent.type !== "JSXElement") continue;
            const { name } = parent.openingElement;
            if (name.type === "JSXIdentifier" && /^(code|kbd|pre)$/.test(name.name)) return true;
          }
          return false;
        };
        const check = (node: Deno.lint.Node | null): void => {
          if (node === null) return;
          if (node.type === "Literal" && typeof node.value === "string" && isProse(node.value)) report(node);
          if (node.type === "TemplateLiteral" && node.quasis.some(({ cooked }) => isPartOfText(cooked))) report(node);
          if (node.type === "ConditionalExpression") {
            check(node.consequent);
            check(node.alternate);
          }
          if (node.type === "LogicalExpression") check(node.right);
          if (node.type === "BinaryExpression" && node.operator === "+") {
            check(node.left as Deno.lint.Node);
            check(node.right);
          }
        };
        const isComponent = context.filename.endsWith(".tsx");
        return {
          JSXText(node) {
            if (word.test(node.value) && !isOfCode(node)) report(node);
          },
          JSXExpressionContainer(node) {
            const isChild = node.parent.type === "JSXElement" || node.parent.type === "JSXFragment";
            if (isChild && !isOfCode(node)) check(node.expression as Deno.lint.Node);
          },
          JSXAttribute(node) {
            if (node.name.type !== "JSXIdentifier" || !read.has(node.name.name)) return;
            check(node.value?.type === "JSXExpressionContainer" ? node.value.expression as Deno.lint.Node : node.value);
          },
          Property(node) {
            if (!isComponent || node.key.type !== "Identifier" || !read.has(node.key.name)) return;
            check(node.value as Deno.lint.Node);
          },
        };
      },
    },
  },
};

export default plugin;
