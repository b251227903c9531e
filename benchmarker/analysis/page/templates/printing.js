// On paper: all rows and all pictures, dark on white, as wide as the paper.
addEventListener("beforeprint", () => {
  table.showAll();
  pictures.print(true);
});
addEventListener("afterprint", () => pictures.print(false));
table.start();
run.follow();
