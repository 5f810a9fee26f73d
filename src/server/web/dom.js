// A node with attributes and children; strings become text nodes, never markup.
export function element(tag, attributes = {}, children = []) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...[children].flat());
  return node;
}

export const byId = (id) => document.getElementById(id);

// A button that does something that cannot be undone asks once more by its own label.
export function confirmingButton(button, question, action) {
  const label = button.textContent;
  let timer = 0;
  const reset = () => {
    clearTimeout(timer);
    timer = 0;
    button.textContent = label;
    button.classList.remove("danger");
  };
  button.addEventListener("click", () => {
    if (timer !== 0) {
      reset();
      action();
      return;
    }
    button.textContent = question;
    button.classList.add("danger");
    timer = setTimeout(reset, 4000);
  });
  button.addEventListener("blur", reset);
}
