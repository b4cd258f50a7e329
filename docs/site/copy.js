// A button on each block of commands that copies it, without what it prints.
document.querySelectorAll("div.highlight-sh pre, div.highlight-bash pre, div.highlight-sql pre, div.highlight-toml pre, div.highlight-js pre, div.highlight-python pre").forEach((block) => {
  const button = document.createElement("button")
  button.type = "button"
  button.className = "copy-commands"
  button.textContent = "Copy"
  button.setAttribute("aria-label", "Copy these lines")
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.innerText.trimEnd() + "\n")
    button.textContent = "Copied"
    setTimeout(() => { button.textContent = "Copy" }, 1500)
  })
  block.parentElement.style.position = "relative"
  block.parentElement.append(button)
})
